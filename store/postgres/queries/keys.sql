-- name: InsertKey :one
INSERT INTO keys (id, name, hash, hint, scopes, workspaces, expires_at, created_at, parent)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
RETURNING id, name, hash, hint, scopes, workspaces, expires_at, last_used_at, created_at, revoked_at, parent;

-- name: GetKeyByHash :one
SELECT id, name, hash, hint, scopes, workspaces, expires_at, last_used_at, created_at, revoked_at, parent
FROM keys WHERE hash = $1;

-- name: GetKey :one
SELECT id, name, hash, hint, scopes, workspaces, expires_at, last_used_at, created_at, revoked_at, parent
FROM keys WHERE id = $1
  AND ($2::text IS NULL OR workspaces IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM json_array_elements_text(keys.workspaces::json) AS own (value)
    WHERE own.value <> ALL (ARRAY(SELECT json_array_elements_text($2::text::json)))));

-- name: ListKeys :many
SELECT id, name, hash, hint, scopes, workspaces, expires_at, last_used_at, created_at, revoked_at, parent FROM keys
WHERE (created_at, id) < ($1::bigint, $2::text)
  AND ($3::text IS NULL OR workspaces IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM json_array_elements_text(keys.workspaces::json) AS own (value)
    WHERE own.value <> ALL (ARRAY(SELECT json_array_elements_text($3::text::json)))))
ORDER BY created_at DESC, id DESC
LIMIT $5::bigint OFFSET $4::bigint;

-- name: RevokeKey :execrows
UPDATE keys SET revoked_at = $1::bigint WHERE id = $2 AND revoked_at IS NULL
  AND ($3::text IS NULL OR workspaces IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM json_array_elements_text(keys.workspaces::json) AS own (value)
    WHERE own.value <> ALL (ARRAY(SELECT json_array_elements_text($3::text::json)))));

-- name: RevokeSessionsOf :many
UPDATE keys SET revoked_at = $1::bigint WHERE parent = $2::text AND revoked_at IS NULL
RETURNING id;

-- name: RevokeOtherEnvironments :execrows
UPDATE keys SET revoked_at = $1::bigint
WHERE parent LIKE 'environment-%' AND parent <> $2::text AND revoked_at IS NULL;

-- name: TrimSessions :many
DELETE FROM keys WHERE keys.id IN (
  SELECT own.id FROM keys AS own WHERE own.parent = $1::text
  ORDER BY own.revoked_at IS NOT NULL, greatest(own.created_at, coalesce(own.last_used_at, 0)) DESC, own.id DESC
  OFFSET $2::bigint)
RETURNING id;

-- name: TouchKey :execrows
UPDATE keys SET last_used_at = $1::bigint,
  expires_at = CASE WHEN keys.parent IS NULL THEN keys.expires_at ELSE least($1::bigint + $2::bigint,
    coalesce((SELECT p.expires_at FROM keys AS p WHERE p.id = keys.parent), $1::bigint + $2::bigint)) END
WHERE keys.id = $3 AND (keys.last_used_at IS NULL OR keys.last_used_at < $1::bigint);

-- name: ListValidKeys :many
SELECT id FROM keys WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::text::json))) AND revoked_at IS NULL;

-- name: CountKeys :one
SELECT count(*) FROM keys
WHERE ($1::text IS NULL OR workspaces IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM json_array_elements_text(keys.workspaces::json) AS own (value)
    WHERE own.value <> ALL (ARRAY(SELECT json_array_elements_text($1::text::json)))));

-- name: CountUsableKeys :one
SELECT count(*) FROM keys
WHERE parent IS NULL AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1::bigint);

-- name: HasOwnKeys :one
SELECT EXISTS (SELECT 1 FROM keys WHERE parent IS NULL)::int::bigint;

-- name: InsertTicket :exec
INSERT INTO tickets (hash, key, path, until)
VALUES ($1, $2, $3, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $4::bigint);

-- name: TakeTicket :one
DELETE FROM tickets WHERE hash = $1 AND until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint
RETURNING key, path;

-- name: CountTickets :one
SELECT count(*) FROM tickets WHERE key = $1 AND (path = $2::text OR path <> '' AND $2::text <> '');

-- name: PurgeTickets :execrows
-- now_ms is that of one moment, so that the index is read.
DELETE FROM tickets WHERE until <= (SELECT now_ms());
