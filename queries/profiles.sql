-- Every query that a caller of the API reaches takes the key's workspaces: a JSON array, or NULL for all.
-- A test rejects a query without them, unless the test lists it with a reason.

-- name: InsertProfile :one
-- The caller must have checked the workspace, which the row names.
INSERT INTO profiles (
    id, workspace_id, name, os, browser_version, tags, tags_key, notes, search_key, proxy_id, proxy_missing, start_urls,
    timezone, locale, geolocation, webrtc, screen, headless, idle_timeout_ms, max_run_ms, background_traffic, allow_local, consistency,
    fallback_proxy_ids, fallback_country, allow_hosts, deny_hosts, localhost_via, log_hosts, temporary, snapshots,
    template_id, args, extensions, passkeys, start_with_server, limits, freeze_after, placement, sources, created_at, updated_at
) VALUES (
    @id, @workspace_id, @name, @os, @browser_version, @tags, @tags_key, @notes, @search_key, sqlc.narg(proxy_id), @proxy_missing, @start_urls,
    @timezone, @locale, @geolocation, @webrtc, sqlc.narg(screen), sqlc.narg(headless), sqlc.narg(idle_timeout_ms), sqlc.narg(max_run_ms),
    @background_traffic, @allow_local, @consistency,
    @fallback_proxy_ids, @fallback_country, @allow_hosts, @deny_hosts, @localhost_via, @log_hosts, @temporary, sqlc.narg(snapshots),
    sqlc.narg(template_id), @args, @extensions, @passkeys, @start_with_server, sqlc.narg(limits), sqlc.narg(freeze_after), sqlc.narg(placement), @sources, @created_at, @updated_at
) RETURNING *;

-- name: AddProfile :exec
-- AddProfile is InsertProfile without returning the row, which costs a third of the insert.
INSERT INTO profiles (
    id, workspace_id, name, os, browser_version, tags, tags_key, notes, search_key, proxy_id, proxy_missing, start_urls,
    timezone, locale, geolocation, webrtc, screen, headless, idle_timeout_ms, max_run_ms, background_traffic, allow_local, consistency,
    fallback_proxy_ids, fallback_country, allow_hosts, deny_hosts, localhost_via, log_hosts, temporary, snapshots,
    template_id, args, extensions, passkeys, start_with_server, limits, freeze_after, placement, sources, created_at, updated_at
) VALUES (
    @id, @workspace_id, @name, @os, @browser_version, @tags, @tags_key, @notes, @search_key, sqlc.narg(proxy_id), @proxy_missing, @start_urls,
    @timezone, @locale, @geolocation, @webrtc, sqlc.narg(screen), sqlc.narg(headless), sqlc.narg(idle_timeout_ms), sqlc.narg(max_run_ms),
    @background_traffic, @allow_local, @consistency,
    @fallback_proxy_ids, @fallback_country, @allow_hosts, @deny_hosts, @localhost_via, @log_hosts, @temporary, sqlc.narg(snapshots),
    sqlc.narg(template_id), @args, @extensions, @passkeys, @start_with_server, sqlc.narg(limits), sqlc.narg(freeze_after), sqlc.narg(placement), @sources, @created_at, @updated_at
);

-- name: InsertProfiles :exec
-- InsertProfiles is AddProfile for many profiles that share their settings: a JSON array of [id, name, search key, proxy's
-- id or null], from Queries.AddProfiles. Only these four are read from JSON, since reading one costs as much as storing it.
INSERT INTO profiles (
    id, workspace_id, name, os, browser_version, tags, tags_key, notes, search_key, proxy_id, proxy_missing, start_urls,
    timezone, locale, geolocation, webrtc, screen, headless, idle_timeout_ms, max_run_ms, background_traffic, allow_local, consistency,
    fallback_proxy_ids, fallback_country, allow_hosts, deny_hosts, localhost_via, log_hosts, temporary, snapshots,
    template_id, args, extensions, passkeys, start_with_server, limits, freeze_after, placement, sources, created_at, updated_at
)
SELECT json_extract(value, '$[0]'), CAST(@workspace_id AS TEXT), json_extract(value, '$[1]'), CAST(@os AS TEXT), CAST(@browser_version AS TEXT), CAST(@tags AS TEXT),
    CAST(@tags_key AS TEXT), CAST(@notes AS TEXT), json_extract(value, '$[2]'), json_extract(value, '$[3]'), CAST(@proxy_missing AS BOOLEAN),
    CAST(@start_urls AS TEXT), CAST(@timezone AS TEXT), CAST(@locale AS TEXT), CAST(@geolocation AS TEXT), CAST(@webrtc AS TEXT),
    CAST(sqlc.narg(screen) AS TEXT), CAST(sqlc.narg(headless) AS BOOLEAN), CAST(sqlc.narg(idle_timeout_ms) AS INTEGER), CAST(sqlc.narg(max_run_ms) AS INTEGER),
    CAST(@background_traffic AS TEXT), CAST(@allow_local AS TEXT), CAST(@consistency AS TEXT),
    CAST(@fallback_proxy_ids AS TEXT), CAST(@fallback_country AS TEXT), CAST(@allow_hosts AS TEXT), CAST(@deny_hosts AS TEXT), CAST(@localhost_via AS TEXT),
    CAST(@log_hosts AS BOOLEAN), CAST(@temporary AS BOOLEAN), CAST(sqlc.narg(snapshots) AS TEXT),
    CAST(sqlc.narg(template_id) AS TEXT), CAST(@args AS TEXT), CAST(@extensions AS TEXT), CAST(@passkeys AS TEXT), CAST(@start_with_server AS BOOLEAN), CAST(sqlc.narg(limits) AS TEXT), CAST(sqlc.narg(freeze_after) AS INTEGER), CAST(sqlc.narg(placement) AS TEXT), CAST(@sources AS TEXT), CAST(@created_at AS INTEGER), CAST(@updated_at AS INTEGER)
FROM jsonb_each(CAST(@profiles AS TEXT));

-- name: ListProfilesFromTo :many
-- ListProfilesFromTo returns the profiles with ids from one to another: what one request made.
SELECT * FROM profiles
WHERE id >= CAST(@first AS TEXT) AND id <= CAST(@last AS TEXT) AND trashed_at IS NULL
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY id;

-- name: GetProfile :one
SELECT * FROM profiles
WHERE id = @id AND trashed_at IS NULL
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: GetProfileAny :one
-- GetProfileAny also finds profiles in the trash.
SELECT * FROM profiles
WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: UpdateProfile :one
-- UpdateProfile writes all settings. It returns no row if the profile is unknown, trashed, foreign, or changed since
-- @revision.
UPDATE profiles SET
    name = @name, os = @os, browser_version = @browser_version, tags = @tags, tags_key = @tags_key, notes = @notes,
    search_key = @search_key, proxy_id = sqlc.narg(proxy_id), proxy_missing = @proxy_missing, start_urls = @start_urls,
    timezone = @timezone, locale = @locale, geolocation = @geolocation, webrtc = @webrtc, screen = sqlc.narg(screen),
    headless = sqlc.narg(headless), idle_timeout_ms = sqlc.narg(idle_timeout_ms), max_run_ms = sqlc.narg(max_run_ms),
    background_traffic = @background_traffic, allow_local = @allow_local, consistency = @consistency,
    fallback_proxy_ids = @fallback_proxy_ids, fallback_country = @fallback_country, allow_hosts = @allow_hosts, deny_hosts = @deny_hosts,
    localhost_via = @localhost_via, log_hosts = @log_hosts, temporary = @temporary, snapshots = sqlc.narg(snapshots),
    args = @args, extensions = @extensions, passkeys = @passkeys, start_with_server = @start_with_server, limits = sqlc.narg(limits), freeze_after = sqlc.narg(freeze_after), placement = sqlc.narg(placement), sources = @sources, updated_at = @updated_at, revision = revision + 1
WHERE id = @id AND revision = @revision AND trashed_at IS NULL
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
RETURNING *;

-- name: SetProfileStatus :execrows
-- SetProfileStatus records a run's state. NULL keeps a column. Settings, revision and updated_at stay unchanged. due is 'on'
-- or 'off', what a profile without a choice of its own does about a snapshot; NULL: no snapshot is due. A server changes nothing of a
-- profile that another one has by now: that may run there. An empty @node_id is the only server.
UPDATE profiles SET
    status = @status,
    last_run = coalesce(sqlc.narg(last_run), last_run),
    last_started_at = coalesce(sqlc.narg(last_started_at), last_started_at),
    disk_bytes = coalesce(sqlc.narg(disk_bytes), disk_bytes),
    snapshot_due = CASE WHEN CAST(sqlc.narg(due) AS TEXT) IS NOT NULL AND coalesce(snapshots, sqlc.narg(due)) = 'on' AND temporary = 0 THEN 1
        ELSE snapshot_due END
WHERE id = @id AND (CAST(@node_id AS TEXT) = '' OR node_id IS NULL OR node_id = @node_id);

-- name: TrashProfile :one
UPDATE profiles SET trashed_at = CAST(@trashed_at AS INTEGER)
WHERE id = @id AND trashed_at IS NULL
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
RETURNING *;

-- name: RestoreProfile :one
UPDATE profiles SET trashed_at = NULL
WHERE id = @id AND trashed_at IS NOT NULL
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
RETURNING *;

-- name: DeleteProfile :execrows
-- DeleteProfile deletes a profile permanently, in and outside the trash, with its runs.
DELETE FROM profiles
WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: PurgeProfile :execrows
-- PurgeProfile deletes a profile that has been in the trash since before @before, but not one restored meanwhile.
DELETE FROM profiles WHERE id = @id AND trashed_at IS NOT NULL AND trashed_at < CAST(@before AS INTEGER);

-- name: ListTrashedBefore :many
-- ListTrashedBefore returns the profiles that the purge of a server deletes, oldest first: those whose data it has, or none.
SELECT id, workspace_id, trashed_at FROM profiles
WHERE trashed_at IS NOT NULL AND trashed_at < CAST(@before AS INTEGER)
  AND (node_id IS NULL OR node_id = CAST(@node_id AS TEXT))
ORDER BY trashed_at, id
LIMIT CAST(@limit AS INTEGER);

-- name: ListProfilesNotStopped :many
-- ListProfilesNotStopped returns the profiles that a boot compares with the running shims, and the failed ones.
SELECT * FROM profiles WHERE status <> 'stopped' ORDER BY status, id;

-- name: ResetStatus :execrows
-- ResetStatus replaces one status by another in all profiles but those of other servers. An empty @node_id is the only server. It changes no
-- other column.
UPDATE profiles SET status = @to_status
WHERE status <> 'stopped' AND status = @from_status AND (CAST(@node_id AS TEXT) = '' OR node_id IS NULL OR node_id = @node_id);

-- name: ListProfilesOfProxy :many
-- ListProfilesOfProxy returns the ids of the profiles outside the trash that use a proxy.
SELECT id FROM profiles
WHERE proxy_id = CAST(@proxy_id AS TEXT) AND trashed_at IS NULL
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY id
LIMIT CAST(@limit AS INTEGER);

-- name: ListProfilesWithFallback :many
-- ListProfilesWithFallback returns the ids of the profiles outside the trash that have a proxy as a fallback.
SELECT id FROM profiles
WHERE workspace_id = @workspace_id AND fallback_proxy_ids <> '[]' AND trashed_at IS NULL
  AND EXISTS (SELECT 1 FROM json_each(fallback_proxy_ids) WHERE json_each.value = CAST(@proxy_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY id
LIMIT CAST(@limit AS INTEGER);

-- name: ListProfilesWithExtension :many
-- ListProfilesWithExtension returns the ids of the profiles outside the trash that name an extension.
SELECT id FROM profiles
WHERE workspace_id = @workspace_id AND extensions <> '[]' AND trashed_at IS NULL
  AND EXISTS (SELECT 1 FROM json_each(extensions) WHERE json_extract(json_each.value, '$.id') = CAST(@extension AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY id
LIMIT CAST(@limit AS INTEGER);

-- name: GetProfiles :many
-- GetProfiles returns the existing profiles of a JSON array of ids, unsorted, also from the trash.
SELECT * FROM profiles
WHERE id IN (SELECT value FROM json_each(CAST(@ids AS TEXT)))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ListNewestProfiles :many
-- ListNewestProfiles returns the ids of a workspace's profiles behind a position, newest first, while the index of lists
-- is loaded. The CAST of the limit saves time: SQLite plans a statement anew whenever a bare parameter of LIMIT is bound.
SELECT id FROM profiles
WHERE workspace_id = @workspace_id AND trashed = @trashed
  AND (created_at, id) < (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY created_at DESC, id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: ListIndexedProfiles :many
-- ListIndexedProfiles returns what the index of lists keeps of profiles, in the order of their ids.
SELECT id, workspace_id, trashed, name, search_key, tags_key, status, proxy_id, proxy_missing, os, created_at, updated_at, last_started_at, node_id
FROM profiles WHERE id > CAST(@after AS TEXT) ORDER BY id LIMIT CAST(@limit AS INTEGER);

-- name: GetIndexedProfiles :many
-- GetIndexedProfiles returns the same of the existing profiles of a JSON array of ids, unsorted.
SELECT id, workspace_id, trashed, name, search_key, tags_key, status, proxy_id, proxy_missing, os, created_at, updated_at, last_started_at, node_id
FROM profiles WHERE id IN (SELECT value FROM json_each(CAST(@ids AS TEXT)));

-- name: ListFallbacksOfProfiles :many
-- ListFallbacksOfProfiles returns the fallbacks of those profiles of a JSON array of ids that have some.
SELECT id, fallback_proxy_ids FROM profiles
WHERE id IN (SELECT value FROM json_each(CAST(@ids AS TEXT))) AND fallback_proxy_ids <> '[]'
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ListWorkspacesOfProfiles :many
-- ListWorkspacesOfProfiles returns the workspaces of those profiles outside the trash of a JSON array of ids that a key sees.
SELECT id, workspace_id FROM profiles
WHERE id IN (SELECT value FROM json_each(CAST(@ids AS TEXT))) AND trashed_at IS NULL
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: SetHead :execrows
-- SetHead records the snapshot that a profile's data go on from. None is due any more.
UPDATE profiles SET head_id = @head_id, snapshot_due = 0 WHERE id = @id;

-- name: DropHead :execrows
-- DropHead forgets the snapshot that a profile's data go on from, when that is deleted.
UPDATE profiles SET head_id = NULL WHERE id = @id AND head_id = CAST(@head_id AS TEXT);

-- name: ClearSnapshotDue :execrows
UPDATE profiles SET snapshot_due = 0 WHERE id = @id;

-- name: ListSnapshotsDue :many
-- ListSnapshotsDue returns the profiles of a server outside the trash that have stopped, and of which no snapshot was made yet.
SELECT id FROM profiles
WHERE snapshot_due = 1 AND trashed_at IS NULL AND (node_id IS NULL OR node_id = CAST(@node_id AS TEXT))
ORDER BY id LIMIT CAST(@limit AS INTEGER);

-- name: ListTemporaryEnded :many
-- ListTemporaryEnded returns the temporary profiles of a server whose run has ended.
SELECT id FROM profiles
WHERE temporary = 1 AND (status = 'stopped' OR status = 'failed') AND last_started_at > 0
  AND (node_id IS NULL OR node_id = CAST(@node_id AS TEXT))
LIMIT CAST(@limit AS INTEGER);

-- name: ListMissingHeads :many
-- ListMissingHeads returns profiles whose data go on from a snapshot that is gone.
SELECT id FROM profiles
WHERE head_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM snapshots WHERE snapshots.id = head_id)
LIMIT CAST(@limit AS INTEGER);

-- name: ListProfilesToStart :many
-- ListProfilesToStart returns the profiles outside the trash that start with a server, in the order of their creation: those whose data it
-- has, and those whose data no server has yet.
SELECT id, workspace_id, node_id, placement FROM profiles
WHERE start_with_server = 1 AND trashed_at IS NULL AND (node_id IS NULL OR node_id = CAST(@node_id AS TEXT))
ORDER BY created_at, id LIMIT CAST(@limit AS INTEGER);
