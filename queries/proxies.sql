-- Every query that a caller of the API reaches takes the key's workspaces: a JSON array, or NULL for all.

-- name: InsertProxy :one
-- InsertProxy fails with a unique violation for a duplicate. GetProxyByAddress then finds the first.
INSERT INTO proxies (
    id, workspace_id, type, host, port, username, password, name, tags, notes, rotate_url, rotate_sealed, created_at, updated_at
) VALUES (
    @id, @workspace_id, @type, @host, @port, @username, sqlc.narg(password), @name, @tags, @notes, @rotate_url, sqlc.narg(rotate_sealed), @created_at, @updated_at
) RETURNING *;

-- name: InsertProxies :execrows
-- InsertProxies is InsertProxy for many proxies of one workspace: a JSON array of arrays, from Queries.AddProxies.
INSERT INTO proxies (
    id, workspace_id, type, host, port, username, password, name, tags, notes, rotate_url, rotate_sealed, created_at, updated_at
)
SELECT json_extract(value, '$[0]'), CAST(@workspace_id AS TEXT), json_extract(value, '$[1]'), json_extract(value, '$[2]'), json_extract(value, '$[3]'), json_extract(value, '$[4]'),
    unhex(json_extract(value, '$[5]')), json_extract(value, '$[6]'), json_extract(value, '$[7]'), json_extract(value, '$[8]'), json_extract(value, '$[9]'), unhex(json_extract(value, '$[10]')), CAST(@now AS INTEGER), CAST(@now AS INTEGER)
FROM jsonb_each(CAST(@proxies AS TEXT));

-- name: FindProxies :many
-- FindProxies takes a JSON array of [type, host, port, username]. It returns the workspace's proxies with these addresses
-- and their index in the array.
SELECT CAST(address.key AS INTEGER) AS place, proxies.id
FROM jsonb_each(CAST(@addresses AS TEXT)) AS address CROSS JOIN proxies
WHERE proxies.workspace_id = @workspace_id
  AND proxies.type = json_extract(address.value, '$[0]') AND proxies.host = json_extract(address.value, '$[1]')
  AND proxies.port = json_extract(address.value, '$[2]') AND proxies.username = json_extract(address.value, '$[3]')
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR proxies.workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: GetProxy :one
SELECT * FROM proxies
WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: GetProxyByAddress :one
SELECT * FROM proxies
WHERE workspace_id = @workspace_id AND type = @type AND host = @host AND port = @port AND username = @username
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: UpdateProxy :one
-- UpdateProxy writes all settings. It returns no row if the proxy is unknown, foreign, or changed since @revision.
UPDATE proxies SET
    type = @type, host = @host, port = @port, username = @username, password = sqlc.narg(password), name = @name,
    tags = @tags, notes = @notes, rotate_url = @rotate_url, rotate_sealed = sqlc.narg(rotate_sealed), updated_at = @updated_at, revision = revision + 1
WHERE id = @id AND revision = @revision
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
RETURNING *;

-- name: DeleteProxy :execrows
-- DeleteProxy deletes a proxy that no profile uses. A trigger removes it from trashed profiles in the same transaction.
DELETE FROM proxies
WHERE id = @id AND profile_count = 0
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: GetProxyChecked :one
-- GetProxyChecked returns what a check is compared with, in the transaction that stores the check.
SELECT revision, status, exit_ip, country, recent, profile_count FROM proxies WHERE id = @id;

-- name: ListIndexedProxies :many
-- ListIndexedProxies returns what the index of lists keeps of proxies, in the order of their ids.
SELECT id, workspace_id, type, host, username, name, tags, notes, status, country, latency_ms, checked_at, profile_count, created_at, updated_at
FROM proxies WHERE id > CAST(@after AS TEXT) ORDER BY id LIMIT CAST(@limit AS INTEGER);

-- name: GetIndexedProxies :many
-- GetIndexedProxies returns the same of the existing proxies of a JSON array of ids, unsorted.
SELECT id, workspace_id, type, host, username, name, tags, notes, status, country, latency_ms, checked_at, profile_count, created_at, updated_at
FROM proxies WHERE id IN (SELECT value FROM json_each(CAST(@ids AS TEXT)));

-- name: ListProxyStates :many
-- ListProxyStates returns what lists of profiles filter by of their proxies, in the order of the proxies' ids.
SELECT id, status, country FROM proxies WHERE id > CAST(@after AS TEXT) ORDER BY id LIMIT CAST(@limit AS INTEGER);

-- name: GetProxies :many
-- GetProxies returns the proxies of some ids, unsorted.
SELECT * FROM proxies
WHERE id IN (SELECT value FROM json_each(CAST(@ids AS TEXT)))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: SetProxyCheck :execrows
-- SetProxyCheck stores the last result of a check for the address at @revision. A check of an older address does not
-- overwrite what a change has cleared.
UPDATE proxies SET status = @status, last_check = CAST(@last_check AS TEXT), exit_ip = @exit_ip, country = @country,
    latency_ms = sqlc.narg(latency_ms), checked_at = @checked_at, recent = @recent
WHERE id = @id AND revision = @revision;

-- name: ClearProxyCheck :execrows
-- ClearProxyCheck clears the last result after a change of the address or the credentials.
UPDATE proxies SET status = 'unknown', last_check = NULL, exit_ip = '', country = '', latency_ms = NULL, checked_at = 0, recent = ''
WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ListProfilesAtExit :many
-- ListProfilesAtExit returns the ids of the profiles outside the trash whose proxy had an exit address at its last check.
SELECT profiles.id FROM proxies
JOIN profiles ON profiles.proxy_id = proxies.id AND profiles.trashed_at IS NULL
WHERE proxies.workspace_id = @workspace_id AND proxies.exit_ip = @exit_ip AND proxies.exit_ip <> ''
LIMIT CAST(@limit AS INTEGER);

-- name: ListProxiesToCheck :many
-- ListProxiesToCheck returns what a check of many needs of each, in the order of creation.
SELECT id, workspace_id, type, host, port, username, password, tags, revision FROM proxies
WHERE (CAST(sqlc.narg(workspace_id) AS TEXT) IS NULL OR workspace_id = sqlc.narg(workspace_id))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY created_at, id;

-- name: ListProxiesToCheckByID :many
-- ListProxiesToCheckByID returns the same for @ids, a JSON array.
SELECT id, workspace_id, type, host, port, username, password, tags, revision FROM proxies
WHERE id IN (SELECT value FROM json_each(CAST(@ids AS TEXT)))
  AND (CAST(sqlc.narg(workspace_id) AS TEXT) IS NULL OR workspace_id = sqlc.narg(workspace_id))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ListProxiesDue :many
-- ListProxiesDue returns the proxies of a workspace that were last checked before a time, longest ago first.
SELECT id, workspace_id, type, host, port, username, password, tags, revision, checked_at FROM proxies
WHERE workspace_id = @workspace_id AND checked_at < @before
ORDER BY checked_at, id
LIMIT CAST(@limit AS INTEGER);

-- name: ListProxiesCheckedAhead :many
-- ListProxiesCheckedAhead returns those whose last check is in the future, because the clock was ahead when it was stored.
SELECT id, workspace_id, type, host, port, username, password, tags, revision, checked_at FROM proxies
WHERE workspace_id = @workspace_id AND checked_at > @now
ORDER BY checked_at, id
LIMIT CAST(@limit AS INTEGER);

-- name: BeginProxyRotation :execrows
-- BeginProxyRotation records that a proxy's rotateUrl is called now. It affects no row if it was called since @before.
UPDATE proxies SET rotated_at = @now
WHERE id = @id AND rotated_at <= @before
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ListProxiesToPick :many
-- ListProxiesToPick returns the proxies of a workspace that are not dead.
SELECT id, tags, profile_count, picked_at FROM proxies
WHERE workspace_id = @workspace_id AND status <> 'dead'
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY created_at, id;

-- name: ListUnusedProxies :many
-- ListUnusedProxies returns proxies of a workspace that no profile uses and that are not dead, oldest first.
SELECT id FROM proxies
WHERE workspace_id = @workspace_id AND profile_count = 0 AND status <> 'dead'
  AND id NOT IN (SELECT value FROM json_each(CAST(@except AS TEXT)))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY created_at, id
LIMIT CAST(@limit AS INTEGER);

-- name: ListProxiesOf :many
-- ListProxiesOf returns those of some ids that are proxies of a workspace.
SELECT id FROM proxies
WHERE workspace_id = @workspace_id AND id IN (SELECT value FROM json_each(CAST(@ids AS TEXT)))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: SetPicked :execrows
-- SetPicked records that a start picked a proxy. It affects no row if another start has picked it since @seen.
UPDATE proxies SET picked_at = @picked_at WHERE id = @id AND picked_at = @seen;

-- name: GetPick :one
-- GetPick returns the proxy that a profile had for a tag.
SELECT proxy_id FROM picks WHERE profile_id = @profile_id AND tag = @tag;

-- name: KeepPick :exec
INSERT INTO picks (profile_id, tag, proxy_id) VALUES (@profile_id, @tag, @proxy_id)
ON CONFLICT (profile_id, tag) DO UPDATE SET proxy_id = excluded.proxy_id;

-- name: ListPlainRotateURLs :many
-- ListPlainRotateURLs returns proxies whose rotateUrl is not sealed, behind an id.
SELECT id, rotate_url FROM proxies WHERE id > @after AND rotate_url <> '' AND rotate_sealed IS NULL ORDER BY id LIMIT CAST(@limit AS INTEGER);

-- name: SealRotateURLOfProxy :execrows
UPDATE proxies SET rotate_url = @rotate_url, rotate_sealed = @rotate_sealed WHERE id = @id;
