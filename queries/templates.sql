-- Every query that a caller of the API reaches takes the key's workspaces: a JSON array, or NULL for all.

-- name: InsertTemplate :one
-- InsertTemplate fails with a unique violation if the workspace has a template of this name. FindTemplate finds it.
INSERT INTO templates (id, workspace_id, name, search_key, settings, created_at, updated_at)
VALUES (@id, @workspace_id, @name, @search_key, @settings, @created_at, @updated_at)
RETURNING *;

-- name: GetTemplate :one
SELECT * FROM templates
WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: FindTemplate :one
-- FindTemplate returns the id of the workspace's template of a name.
SELECT id FROM templates
WHERE workspace_id = @workspace_id AND name = @name
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ListTemplates :many
-- ListTemplates returns templates newest first, behind a position: of one workspace, or of all if it is ''; whose name
-- contains a case-folded text.
SELECT * FROM templates
WHERE (created_at, id) < (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(@in_workspace AS TEXT) = '' OR workspace_id = @in_workspace)
  AND instr(search_key, CAST(@search AS TEXT)) > 0
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY created_at DESC, id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: CountTemplates :one
-- CountTemplates counts what ListTemplates lists.
SELECT count(*) FROM templates
WHERE (CAST(@in_workspace AS TEXT) = '' OR workspace_id = @in_workspace)
  AND instr(search_key, CAST(@search AS TEXT)) > 0
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: UpdateTemplate :one
-- UpdateTemplate returns no row if the template is unknown, foreign, or changed since @revision.
UPDATE templates SET name = @name, search_key = @search_key, settings = @settings, updated_at = @updated_at, revision = revision + 1
WHERE id = @id AND revision = @revision
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
RETURNING *;

-- name: DeleteTemplate :execrows
DELETE FROM templates
WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));
