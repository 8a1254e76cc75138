-- Every query that a caller of the API reaches takes the key's workspaces: a JSON array, or NULL for all.

-- name: InsertProxy :one
-- InsertProxy fails with a unique violation for a duplicate; GetProxyByAddress then has the first.
INSERT INTO proxies (
    id, workspace_id, type, host, port, username, password, name, tags, notes, rotate_url, created_at, updated_at
) VALUES (
    @id, @workspace_id, @type, @host, @port, @username, sqlc.narg(password), @name, @tags, @notes, @rotate_url, @created_at, @updated_at
) RETURNING *;

-- name: GetProxy :one
SELECT * FROM proxies
WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: GetProxyByAddress :one
SELECT * FROM proxies
WHERE workspace_id = @workspace_id AND type = @type AND host = @host AND port = @port AND username = @username
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: UpdateProxy :one
-- UpdateProxy writes every setting at once. No row: unknown, foreign, or changed since @revision was read.
UPDATE proxies SET
    type = @type, host = @host, port = @port, username = @username, password = sqlc.narg(password), name = @name,
    tags = @tags, notes = @notes, rotate_url = @rotate_url, updated_at = @updated_at, revision = revision + 1
WHERE id = @id AND revision = @revision
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
RETURNING *;

-- name: DeleteProxy :execrows
-- DeleteProxy removes a proxy that no profile uses. Trashed profiles let go of it by a trigger, in the same transaction.
DELETE FROM proxies
WHERE id = @id AND profile_count = 0
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ListProxies :many
-- ListProxies gives proxies newest first, after a place; limit -1 gives all. store.ListProxies picks the query.
SELECT * FROM proxies
WHERE (created_at, id) < (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY created_at DESC, id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: ListProxiesOfWorkspace :many
SELECT * FROM proxies
WHERE workspace_id = @workspace_id
  AND (created_at, id) < (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY created_at DESC, id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: SetProxyCheck :execrows
-- SetProxyCheck keeps the last result of a check. The check is of the address as it was at @revision: none of an older
-- one overwrites what a change has cleared.
UPDATE proxies SET status = @status, last_check = CAST(@last_check AS TEXT)
WHERE id = @id AND revision = @revision;

-- name: ClearProxyCheck :execrows
-- ClearProxyCheck forgets the last result, after a change of the address or the credentials.
UPDATE proxies SET status = 'unknown', last_check = NULL
WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));
