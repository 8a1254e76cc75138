-- What was done with secrets. Whoever sees some workspaces only sees what was done in one of these.

-- name: InsertAudit :execrows
INSERT INTO audit (id, at, key_id, key_name, workspace_id, action, object_id, remote, request_id, detail)
VALUES (@id, @at, @key_id, @key_name, @workspace_id, @action, @object_id, @remote, @request_id, @detail);

-- name: GetAudit :one
SELECT * FROM audit
WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ListAudit :many
-- ListAudit gives what was done, newest first, after a place.
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
