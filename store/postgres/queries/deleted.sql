-- name: WasDeleted :one
SELECT count(*) FROM deleted
WHERE id = $1 AND kind = $2
  AND ($3::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($3::text::json))));

-- name: ForgetDeleted :execrows
DELETE FROM deleted WHERE at < $1::bigint;
