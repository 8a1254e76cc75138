-- Uses of secrets. A key that may see only some workspaces sees only what was done in these.

-- name: InsertAudit :execrows
INSERT INTO audit (id, at, key_id, key_name, workspace_id, action, object_id, remote, request_id, detail)
VALUES (@id, @at, @key_id, @key_name, @workspace_id, @action, @object_id, @remote, @request_id, @detail);

-- name: GetAudit :one
SELECT * FROM audit
WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: GetAudits :many
-- GetAudits returns the entries of a JSON array of ids, unsorted.
SELECT * FROM audit
WHERE id IN (SELECT value FROM json_each(CAST(@ids AS TEXT)))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ListIndexedAudit :many
-- ListIndexedAudit returns what the index of lists keeps of entries, in the order of their ids.
SELECT id, at, workspace_id, action FROM audit WHERE id > CAST(@after AS TEXT) ORDER BY id LIMIT CAST(@limit AS INTEGER);

-- name: GetIndexedAudit :many
-- GetIndexedAudit returns the same of the existing entries of a JSON array of ids, unsorted.
SELECT id, at, workspace_id, action FROM audit WHERE id IN (SELECT value FROM json_each(CAST(@ids AS TEXT)));
