-- name: EnsureWorkspace :execrows
INSERT INTO workspaces (id, name, created_at, updated_at) VALUES ($1, $2, $3, $3)
ON CONFLICT (id) DO NOTHING;

-- name: InsertWorkspace :one
INSERT INTO workspaces (id, name, quota_profiles, quota_running, quota_disk_mb, quota_proxies, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
RETURNING id, name, profile_count, trashed_count, proxy_count, created_at, updated_at, pack_secret, defaults, revision,
    quota_profiles, quota_running, quota_disk_mb, quota_proxies, data_bytes;

-- name: GetWorkspace :one
SELECT id, name, profile_count, trashed_count, proxy_count, created_at, updated_at, pack_secret, defaults, revision,
    quota_profiles, quota_running, quota_disk_mb, quota_proxies, data_bytes
FROM workspaces
WHERE id = $1
  AND ($2::text IS NULL OR id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: ListWorkspaces :many
SELECT id, name, profile_count, trashed_count, proxy_count, created_at, updated_at, pack_secret, defaults, revision,
    quota_profiles, quota_running, quota_disk_mb, quota_proxies, data_bytes
FROM workspaces
WHERE (created_at, id) < ($1::bigint, $2::text)
  AND ($3::text IS NULL OR id = ANY (ARRAY(SELECT json_array_elements_text($3::text::json))))
ORDER BY created_at DESC, id DESC
LIMIT $5::bigint OFFSET $4;

-- name: CountWorkspaces :one
SELECT count(*) FROM workspaces
WHERE ($1::text IS NULL OR id = ANY (ARRAY(SELECT json_array_elements_text($1::text::json))));

-- name: UpdateWorkspace :one
UPDATE workspaces SET name = $1, defaults = $2, quota_profiles = $3, quota_running = $4,
    quota_disk_mb = $5, quota_proxies = $6, updated_at = $7, revision = revision + 1
WHERE id = $8 AND revision = $9
  AND ($10::text IS NULL OR id = ANY (ARRAY(SELECT json_array_elements_text($10::text::json))))
RETURNING id, name, profile_count, trashed_count, proxy_count, created_at, updated_at, pack_secret, defaults, revision,
    quota_profiles, quota_running, quota_disk_mb, quota_proxies, data_bytes;

-- name: DeleteEmptyWorkspace :execrows
DELETE FROM workspaces
WHERE workspaces.id = $1 AND profile_count = 0 AND trashed_count = 0 AND proxy_count = 0
  AND NOT EXISTS (SELECT 1 FROM templates WHERE templates.workspace_id = workspaces.id)
  AND NOT EXISTS (SELECT 1 FROM schedules WHERE schedules.workspace_id = workspaces.id)
  AND NOT EXISTS (SELECT 1 FROM webhooks WHERE webhooks.workspace_id = workspaces.id)
  AND NOT EXISTS (SELECT 1 FROM extensions WHERE extensions.workspace_id = workspaces.id)
  AND ($2::text IS NULL OR workspaces.id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: CountInWorkspace :one
SELECT (SELECT count(*) FROM templates WHERE templates.workspace_id = workspaces.id) AS templates,
    (SELECT count(*) FROM schedules WHERE schedules.workspace_id = workspaces.id) AS schedules,
    (SELECT count(*) FROM extensions WHERE extensions.workspace_id = workspaces.id) AS extensions,
    (SELECT count(*) FROM webhooks WHERE webhooks.workspace_id = workspaces.id) AS webhooks,
    (SELECT count(*) FROM keys WHERE revoked_at IS NULL AND parent IS NULL AND (expires_at IS NULL OR expires_at > $1)
        AND EXISTS (SELECT 1 FROM json_array_elements_text(keys.workspaces::json) AS own (value)
            WHERE own.value = workspaces.id)) AS keys
FROM workspaces
WHERE workspaces.id = $2
  AND ($3::text IS NULL OR workspaces.id = ANY (ARRAY(SELECT json_array_elements_text($3::text::json))));

-- name: Totals :one
SELECT
    CAST(coalesce(sum(profile_count), 0) AS BIGINT) AS profiles,
    CAST(coalesce(sum(trashed_count), 0) AS BIGINT) AS trashed,
    CAST(coalesce(sum(proxy_count), 0) AS BIGINT)   AS proxies
FROM workspaces
WHERE ($1::text IS NULL OR id = ANY (ARRAY(SELECT json_array_elements_text($1::text::json))));

-- name: TotalsOfWorkspace :one
SELECT
    CAST(coalesce(sum(profile_count), 0) AS BIGINT) AS profiles,
    CAST(coalesce(sum(trashed_count), 0) AS BIGINT) AS trashed,
    CAST(coalesce(sum(proxy_count), 0) AS BIGINT)   AS proxies
FROM workspaces
WHERE id = $1
  AND ($2::text IS NULL OR id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: GetDefaults :one
SELECT defaults FROM workspaces WHERE id = $1;

-- name: ListWorkspaceIDs :many
SELECT id FROM workspaces WHERE proxy_count > 0 ORDER BY id;

-- name: CountKept :one
SELECT CAST((SELECT coalesce(sum(profile_count + trashed_count), 0) FROM workspaces) AS BIGINT) AS profiles,
    (SELECT count(*) FROM snapshots) AS snapshots;

-- name: GetPackSecret :one
SELECT pack_secret FROM workspaces WHERE id = $1;

-- name: SetPackSecret :execrows
UPDATE workspaces SET pack_secret = $1 WHERE id = $2 AND pack_secret IS NULL;
