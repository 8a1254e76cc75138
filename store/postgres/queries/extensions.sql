-- name: InsertExtension :exec
INSERT INTO extensions (id, workspace_id, extension_id, name, description, version, minimum_chrome, sha256, bytes, files, rules,
    permissions, optional_permissions, hosts, optional_hosts, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,
    $12, $13, $14, $15, $16);

-- name: GetExtension :one
SELECT id, workspace_id, extension_id, name, description, version, minimum_chrome, sha256, bytes, files, rules, permissions,
    optional_permissions, hosts, optional_hosts, created_at
FROM extensions
WHERE id = $1
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: GetExtensionOfPackage :one
SELECT id, workspace_id, extension_id, name, description, version, minimum_chrome, sha256, bytes, files, rules, permissions,
    optional_permissions, hosts, optional_hosts, created_at
FROM extensions
WHERE workspace_id = $1 AND sha256 = $2
  AND ($3::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($3::text::json))));

-- name: ListExtensions :many
SELECT id, workspace_id, extension_id, name, description, version, minimum_chrome, sha256, bytes, files, rules, permissions,
    optional_permissions, hosts, optional_hosts, created_at
FROM extensions
WHERE ($1::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($1::text::json))))
  AND ($2::text IS NULL OR workspace_id = $2)
  AND ($3::text IS NULL OR id < $3)
ORDER BY id DESC
LIMIT $5::bigint OFFSET $4::bigint;

-- name: CountExtensions :one
SELECT count(*) FROM extensions
WHERE ($1::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($1::text::json))))
  AND ($2::text IS NULL OR workspace_id = $2);

-- name: ListExtensionsOfProfile :many
SELECT id, workspace_id, extension_id, name, description, version, minimum_chrome, sha256, bytes, files, rules, permissions,
    optional_permissions, hosts, optional_hosts, created_at
FROM extensions
WHERE workspace_id = $1 AND id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json)));

-- name: DeleteExtension :one
DELETE FROM extensions
WHERE id = $1
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))))
RETURNING id, workspace_id, extension_id, name, description, version, minimum_chrome, sha256, bytes, files, rules, permissions,
    optional_permissions, hosts, optional_hosts, created_at;

-- name: ListPackages :many
SELECT DISTINCT sha256 FROM extensions;

-- name: HasPackage :one
SELECT EXISTS (SELECT 1 FROM extensions WHERE sha256 = $1)::int::bigint;
