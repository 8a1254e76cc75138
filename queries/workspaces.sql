-- name: EnsureWorkspace :execrows
-- EnsureWorkspace creates a workspace if its id does not exist.
INSERT INTO workspaces (id, name, created_at, updated_at) VALUES (@id, @name, @now, @now)
ON CONFLICT (id) DO NOTHING;

-- name: InsertWorkspace :one
INSERT INTO workspaces (id, name, quota_profiles, quota_running, quota_disk_mb, quota_proxies, created_at, updated_at)
VALUES (@id, @name, @quota_profiles, @quota_running, @quota_disk_mb, @quota_proxies, @now, @now)
RETURNING *;

-- name: GetWorkspace :one
SELECT * FROM workspaces
WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ListWorkspaces :many
-- ListWorkspaces returns workspaces newest first, behind a position, with their counts.
SELECT * FROM workspaces
WHERE (created_at, id) < (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY created_at DESC, id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: CountWorkspaces :one
SELECT count(*) FROM workspaces
WHERE (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: UpdateWorkspace :one
-- UpdateWorkspace returns no row if the workspace is unknown, foreign, or changed since @revision.
UPDATE workspaces SET name = @name, defaults = @defaults, quota_profiles = @quota_profiles, quota_running = @quota_running,
    quota_disk_mb = @quota_disk_mb, quota_proxies = @quota_proxies, updated_at = @updated_at, revision = revision + 1
WHERE id = @id AND revision = @revision
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
RETURNING *;

-- name: DeleteEmptyWorkspace :execrows
-- DeleteEmptyWorkspace affects no row if the workspace is unknown, foreign or not empty. The trash, templates, schedules, extensions
-- and webhooks count too.
DELETE FROM workspaces
WHERE workspaces.id = @id AND profile_count = 0 AND trashed_count = 0 AND proxy_count = 0
  AND NOT EXISTS (SELECT 1 FROM templates WHERE templates.workspace_id = workspaces.id)
  AND NOT EXISTS (SELECT 1 FROM schedules WHERE schedules.workspace_id = workspaces.id)
  AND NOT EXISTS (SELECT 1 FROM webhooks WHERE webhooks.workspace_id = workspaces.id)
  AND NOT EXISTS (SELECT 1 FROM extensions WHERE extensions.workspace_id = workspaces.id)
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspaces.id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: CountInWorkspace :one
-- CountInWorkspace returns what else a workspace has, which no counter of its row has, and the keys that name it and are valid.
SELECT (SELECT count(*) FROM templates WHERE templates.workspace_id = workspaces.id) AS templates,
    (SELECT count(*) FROM schedules WHERE schedules.workspace_id = workspaces.id) AS schedules,
    (SELECT count(*) FROM extensions WHERE extensions.workspace_id = workspaces.id) AS extensions,
    (SELECT count(*) FROM webhooks WHERE webhooks.workspace_id = workspaces.id) AS webhooks,
    (SELECT count(*) FROM keys WHERE revoked_at IS NULL AND parent IS NULL AND (expires_at IS NULL OR expires_at > @now)
        AND EXISTS (SELECT 1 FROM json_each(keys.workspaces) WHERE value = workspaces.id)) AS keys
FROM workspaces
WHERE workspaces.id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspaces.id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: Totals :one
-- Totals sums up the counters of the workspaces that a key may see: the totals of unfiltered lists.
SELECT
    CAST(coalesce(sum(profile_count), 0) AS INTEGER) AS profiles,
    CAST(coalesce(sum(trashed_count), 0) AS INTEGER) AS trashed,
    CAST(coalesce(sum(proxy_count), 0) AS INTEGER)   AS proxies
FROM workspaces
WHERE (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: TotalsOfWorkspace :one
SELECT
    CAST(coalesce(sum(profile_count), 0) AS INTEGER) AS profiles,
    CAST(coalesce(sum(trashed_count), 0) AS INTEGER) AS trashed,
    CAST(coalesce(sum(proxy_count), 0) AS INTEGER)   AS proxies
FROM workspaces
WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: GetDefaults :one
-- GetDefaults returns the settings that new profiles of a workspace get, which the caller has checked.
SELECT defaults FROM workspaces WHERE id = @id;

-- name: ListWorkspaceIDs :many
-- ListWorkspaceIDs returns every workspace that has proxies.
SELECT id FROM workspaces WHERE proxy_count > 0 ORDER BY id;

-- name: CountKept :one
-- CountKept returns what a backup holds: profiles, with the trash, and snapshots.
SELECT CAST((SELECT coalesce(sum(profile_count + trashed_count), 0) FROM workspaces) AS INTEGER) AS profiles,
    (SELECT count(*) FROM snapshots) AS snapshots;

-- name: GetPackSecret :one
-- GetPackSecret returns the sealed secret of a workspace's packs; NULL if none was made yet.
SELECT pack_secret FROM workspaces WHERE id = @id;

-- name: SetPackSecret :execrows
-- SetPackSecret stores the first one. It never replaces one, which would lose what was sealed with it.
UPDATE workspaces SET pack_secret = @pack_secret WHERE id = @id AND pack_secret IS NULL;
