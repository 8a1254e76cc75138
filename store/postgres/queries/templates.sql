-- name: InsertTemplate :one
INSERT INTO templates (id, workspace_id, name, search_key, settings, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
RETURNING id, workspace_id, name, search_key, settings, revision, created_at, updated_at;

-- name: GetTemplate :one
SELECT id, workspace_id, name, search_key, settings, revision, created_at, updated_at FROM templates
WHERE id = $1
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: FindTemplate :one
SELECT id FROM templates
WHERE workspace_id = $1 AND name = $2
  AND ($3::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($3::text::json))));

-- name: ListTemplates :many
SELECT id, workspace_id, name, search_key, settings, revision, created_at, updated_at FROM templates
WHERE (created_at, id) < ($1::bigint, $2::text)
  AND ($3::text = '' OR workspace_id = $3)
  AND strpos(search_key, $4::text) > 0
  AND ($5::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($5::text::json))))
ORDER BY created_at DESC, id DESC
LIMIT $7::bigint OFFSET $6;

-- name: CountTemplates :one
SELECT count(*) FROM templates
WHERE ($1::text = '' OR workspace_id = $1)
  AND strpos(search_key, $2::text) > 0
  AND ($3::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($3::text::json))));

-- name: UpdateTemplate :one
UPDATE templates SET name = $1, search_key = $2, settings = $3, updated_at = $4, revision = revision + 1
WHERE id = $5 AND revision = $6
  AND ($7::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($7::text::json))))
RETURNING id, workspace_id, name, search_key, settings, revision, created_at, updated_at;

-- name: DeleteTemplate :execrows
DELETE FROM templates
WHERE id = $1
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));
