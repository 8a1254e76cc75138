-- name: InsertProxy :one
INSERT INTO proxies (
    id, workspace_id, type, host, port, username, password, name, tags, notes, rotate_url, rotate_sealed, created_at, updated_at
) VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14
) RETURNING id, workspace_id, type, host, port, username, password, name, tags, notes, rotate_url, status, last_check,
    profile_count, checks_total, checks_ok, revision, created_at, updated_at, exit_ip, country, latency_ms, checked_at, recent,
    rotated_at, picked_at, rotate_sealed;

-- name: InsertProxies :execrows
INSERT INTO proxies (
    id, workspace_id, type, host, port, username, password, name, tags, notes, rotate_url, rotate_sealed, created_at, updated_at
)
SELECT value ->> 0, $1::text, value ->> 1, value ->> 2, (value ->> 3)::bigint, value ->> 4, decode(value ->> 5, 'hex'),
    value ->> 6, value ->> 7, value ->> 8, value ->> 9, decode(value ->> 10, 'hex'), $2::bigint, $2::bigint
FROM jsonb_array_elements($3::text::jsonb) AS made (value);

-- name: FindProxies :many
SELECT address.place - 1 AS place, proxies.id
FROM jsonb_array_elements($1::text::jsonb) WITH ORDINALITY AS address (value, place) CROSS JOIN proxies
WHERE proxies.workspace_id = $2
  AND proxies.type = address.value ->> 0 AND proxies.host = address.value ->> 1
  AND proxies.port = (address.value ->> 2)::bigint AND proxies.username = address.value ->> 3
  AND ($3::text IS NULL OR proxies.workspace_id = ANY (ARRAY(SELECT json_array_elements_text($3::text::json))));

-- name: GetProxy :one
SELECT id, workspace_id, type, host, port, username, password, name, tags, notes, rotate_url, status, last_check, profile_count,
    checks_total, checks_ok, revision, created_at, updated_at, exit_ip, country, latency_ms, checked_at, recent, rotated_at,
    picked_at, rotate_sealed
FROM proxies
WHERE id = $1
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: GetProxyByAddress :one
SELECT id, workspace_id, type, host, port, username, password, name, tags, notes, rotate_url, status, last_check, profile_count,
    checks_total, checks_ok, revision, created_at, updated_at, exit_ip, country, latency_ms, checked_at, recent, rotated_at,
    picked_at, rotate_sealed
FROM proxies
WHERE workspace_id = $1 AND type = $2 AND host = $3 AND port = $4 AND username = $5
  AND ($6::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($6::text::json))));

-- name: UpdateProxy :one
UPDATE proxies SET
    type = $1, host = $2, port = $3, username = $4, password = $5, name = $6,
    tags = $7, notes = $8, rotate_url = $9, rotate_sealed = $10, updated_at = $11, revision = revision + 1
WHERE id = $12 AND revision = $13
  AND ($14::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($14::text::json))))
RETURNING id, workspace_id, type, host, port, username, password, name, tags, notes, rotate_url, status, last_check,
    profile_count, checks_total, checks_ok, revision, created_at, updated_at, exit_ip, country, latency_ms, checked_at, recent,
    rotated_at, picked_at, rotate_sealed;

-- name: DeleteProxy :execrows
DELETE FROM proxies
WHERE id = $1 AND profile_count = 0
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: GetProxyChecked :one
SELECT revision, status, exit_ip, country, recent, profile_count FROM proxies WHERE id = $1;

-- name: ListIndexedProxies :many
SELECT id, workspace_id, type, host, username, name, tags, notes, status, country, latency_ms, checked_at, profile_count,
    created_at, updated_at
FROM proxies WHERE id > $1::text ORDER BY id LIMIT $2::bigint;

-- name: GetIndexedProxies :many
SELECT id, workspace_id, type, host, username, name, tags, notes, status, country, latency_ms, checked_at, profile_count,
    created_at, updated_at
FROM proxies WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::text::json)));

-- name: ListProxyStates :many
SELECT id, status, country FROM proxies WHERE id > $1::text ORDER BY id LIMIT $2::bigint;

-- name: GetProxies :many
SELECT id, workspace_id, type, host, port, username, password, name, tags, notes, rotate_url, status, last_check, profile_count,
    checks_total, checks_ok, revision, created_at, updated_at, exit_ip, country, latency_ms, checked_at, recent, rotated_at,
    picked_at, rotate_sealed
FROM proxies
WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::text::json)))
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: SetProxyCheck :execrows
UPDATE proxies SET status = $1, last_check = $2::text, exit_ip = $3, country = $4,
    latency_ms = $5, checked_at = $6, recent = $7
WHERE id = $8 AND revision = $9;

-- name: ClearProxyCheck :execrows
UPDATE proxies SET status = 'unknown', last_check = NULL, exit_ip = '', country = '', latency_ms = NULL, checked_at = 0, recent
    = ''
WHERE id = $1
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: ListProfilesAtExit :many
SELECT profiles.id FROM proxies
JOIN profiles ON profiles.proxy_id = proxies.id AND profiles.trashed_at IS NULL
WHERE proxies.workspace_id = $1 AND proxies.exit_ip = $2 AND proxies.exit_ip <> ''
LIMIT $3::bigint;

-- name: ListProxiesToCheck :many
SELECT id, workspace_id, type, host, port, username, password, tags, revision FROM proxies
WHERE ($1::text IS NULL OR workspace_id = $1)
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))))
ORDER BY created_at, id;

-- name: ListProxiesToCheckByID :many
SELECT id, workspace_id, type, host, port, username, password, tags, revision FROM proxies
WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::text::json)))
  AND ($2::text IS NULL OR workspace_id = $2)
  AND ($3::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($3::text::json))));

-- name: ListProxiesDue :many
SELECT id, workspace_id, type, host, port, username, password, tags, revision, checked_at FROM proxies
WHERE workspace_id = $1 AND checked_at < $2
ORDER BY checked_at, id
LIMIT $3::bigint;

-- name: ListProxiesCheckedAhead :many
SELECT id, workspace_id, type, host, port, username, password, tags, revision, checked_at FROM proxies
WHERE workspace_id = $1 AND checked_at > $2
ORDER BY checked_at, id
LIMIT $3::bigint;

-- name: BeginProxyRotation :execrows
UPDATE proxies SET rotated_at = $1
WHERE id = $2 AND rotated_at <= $3
  AND ($4::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($4::text::json))));

-- name: ListProxiesToPick :many
SELECT id, tags, profile_count, picked_at FROM proxies
WHERE workspace_id = $1 AND status <> 'dead'
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))))
ORDER BY created_at, id;

-- name: ListUnusedProxies :many
SELECT id FROM proxies
WHERE workspace_id = $1 AND profile_count = 0 AND status <> 'dead'
  AND id <> ALL (ARRAY(SELECT json_array_elements_text($2::text::json)))
  AND ($3::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($3::text::json))))
ORDER BY created_at, id
LIMIT $4::bigint;

-- name: ListProxiesOf :many
SELECT id FROM proxies
WHERE workspace_id = $1 AND id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json)))
  AND ($3::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($3::text::json))));

-- name: SetPicked :execrows
UPDATE proxies SET picked_at = $1 WHERE id = $2 AND picked_at = $3;

-- name: GetPick :one
SELECT proxy_id FROM picks WHERE profile_id = $1 AND tag = $2;

-- name: KeepPick :exec
INSERT INTO picks (profile_id, tag, proxy_id) VALUES ($1, $2, $3)
ON CONFLICT (profile_id, tag) DO UPDATE SET proxy_id = excluded.proxy_id;

-- name: ListPlainRotateURLs :many
SELECT id, rotate_url FROM proxies WHERE id > $1 AND rotate_url <> '' AND rotate_sealed IS NULL ORDER BY id LIMIT $2::bigint;

-- name: SealRotateURLOfProxy :execrows
UPDATE proxies SET rotate_url = $1, rotate_sealed = $2 WHERE id = $3;
