-- Uses of secrets. A key that may see only some workspaces sees only what was done in these.

-- name: InsertAudit :execrows
INSERT INTO audit (id, at, key_id, key_name, workspace_id, action, object_id, remote, request_id, detail)
VALUES (@id, @at, @key_id, @key_name, @workspace_id, @action, @object_id, @remote, @request_id, @detail);

-- name: GetAudit :one
SELECT * FROM audit
WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ListAudit :many
-- ListAudit returns entries, newest first, behind a position.
SELECT * FROM audit
WHERE (at, id) < (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(action) AS TEXT) IS NULL OR action = sqlc.narg(action))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY at DESC, id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: CountAudit :one
SELECT count(*) FROM audit
WHERE (CAST(sqlc.narg(action) AS TEXT) IS NULL OR action = sqlc.narg(action))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));
