-- Ids of rows that were deleted, for walks through lists that had come to one of them.

-- name: WasDeleted :one
SELECT count(*) FROM deleted
WHERE id = @id AND kind = @kind
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ForgetDeleted :execrows
DELETE FROM deleted WHERE at < CAST(@before AS INTEGER);
