-- Packages of extensions. Those of the same bytes in several workspaces share their folder.

-- name: InsertExtension :exec
-- InsertExtension fails with a unique violation for a duplicate. GetExtensionOfPackage then finds the first.
INSERT INTO extensions (id, workspace_id, extension_id, name, description, version, minimum_chrome, sha256, bytes, files, rules,
    permissions, optional_permissions, hosts, optional_hosts, created_at)
VALUES (@id, @workspace_id, @extension_id, @name, @description, @version, @minimum_chrome, @sha256, @bytes, @files, @rules,
    @permissions, @optional_permissions, @hosts, @optional_hosts, @created_at);

-- name: GetExtension :one
SELECT * FROM extensions
WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: GetExtensionOfPackage :one
SELECT * FROM extensions
WHERE workspace_id = @workspace_id AND sha256 = @sha256
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ListExtensions :many
-- ListExtensions returns extensions, newest first. Ids are in the order of creation. NULL for @after begins with the newest.
SELECT * FROM extensions
WHERE (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(workspace_id) AS TEXT) IS NULL OR workspace_id = sqlc.narg(workspace_id))
  AND (CAST(sqlc.narg(after) AS TEXT) IS NULL OR id < sqlc.narg(after))
ORDER BY id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET CAST(@offset AS INTEGER);

-- name: CountExtensions :one
SELECT count(*) FROM extensions
WHERE (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(workspace_id) AS TEXT) IS NULL OR workspace_id = sqlc.narg(workspace_id));

-- name: ListExtensionsOfProfile :many
-- ListExtensionsOfProfile returns those extensions of a workspace that a JSON array of ids names, unsorted.
SELECT * FROM extensions
WHERE workspace_id = @workspace_id AND id IN (SELECT value FROM json_each(CAST(@ids AS TEXT)));

-- name: DeleteExtension :one
DELETE FROM extensions
WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
RETURNING *;

-- name: ListPackages :many
-- ListPackages returns the packages of every workspace, each once.
SELECT DISTINCT sha256 FROM extensions;

-- name: HasPackage :one
SELECT EXISTS (SELECT 1 FROM extensions WHERE sha256 = @sha256);
