-- Ids of deleted rows, for lists that continue behind one of them.

-- name: WasDeleted :one
SELECT count(*) FROM deleted
WHERE id = @id AND kind = @kind
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ForgetDeleted :execrows
DELETE FROM deleted WHERE at < CAST(@before AS INTEGER);
