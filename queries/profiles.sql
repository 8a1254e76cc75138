-- Every query that a caller of the API reaches takes the key's workspaces: a JSON array, or NULL for all.
-- A test rejects a query without them, unless the test lists it with a reason.

-- name: InsertProfile :one
-- The caller must have checked the workspace, which the row names.
INSERT INTO profiles (
    id, workspace_id, name, os, browser_version, tags, tags_key, notes, search_key, proxy_id, proxy_missing, start_urls,
    timezone, locale, geolocation, webrtc, screen, headless, idle_timeout_ms, max_run_ms, background_traffic, allow_local, consistency,
    fallback_proxy_ids, fallback_country, allow_hosts, deny_hosts, localhost_via, log_hosts, created_at, updated_at
) VALUES (
    @id, @workspace_id, @name, @os, @browser_version, @tags, @tags_key, @notes, @search_key, sqlc.narg(proxy_id), @proxy_missing, @start_urls,
    @timezone, @locale, @geolocation, @webrtc, sqlc.narg(screen), sqlc.narg(headless), sqlc.narg(idle_timeout_ms), sqlc.narg(max_run_ms),
    @background_traffic, @allow_local, @consistency,
    @fallback_proxy_ids, @fallback_country, @allow_hosts, @deny_hosts, @localhost_via, @log_hosts, @created_at, @updated_at
) RETURNING *;

-- name: AddProfile :exec
-- AddProfile is InsertProfile without returning the row, which costs a third of the insert.
INSERT INTO profiles (
    id, workspace_id, name, os, browser_version, tags, tags_key, notes, search_key, proxy_id, proxy_missing, start_urls,
    timezone, locale, geolocation, webrtc, screen, headless, idle_timeout_ms, max_run_ms, background_traffic, allow_local, consistency,
    fallback_proxy_ids, fallback_country, allow_hosts, deny_hosts, localhost_via, log_hosts, created_at, updated_at
) VALUES (
    @id, @workspace_id, @name, @os, @browser_version, @tags, @tags_key, @notes, @search_key, sqlc.narg(proxy_id), @proxy_missing, @start_urls,
    @timezone, @locale, @geolocation, @webrtc, sqlc.narg(screen), sqlc.narg(headless), sqlc.narg(idle_timeout_ms), sqlc.narg(max_run_ms),
    @background_traffic, @allow_local, @consistency,
    @fallback_proxy_ids, @fallback_country, @allow_hosts, @deny_hosts, @localhost_via, @log_hosts, @created_at, @updated_at
);

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
    localhost_via = @localhost_via, log_hosts = @log_hosts, updated_at = @updated_at, revision = revision + 1
WHERE id = @id AND revision = @revision AND trashed_at IS NULL
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
RETURNING *;

-- name: SetProfileStatus :execrows
-- SetProfileStatus records a run's state. NULL keeps a column. Settings, revision and updated_at stay unchanged.
UPDATE profiles SET
    status = @status,
    last_run = coalesce(sqlc.narg(last_run), last_run),
    last_started_at = coalesce(sqlc.narg(last_started_at), last_started_at),
    disk_bytes = coalesce(sqlc.narg(disk_bytes), disk_bytes)
WHERE id = @id;

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
-- ListTrashedBefore returns the profiles that the purge deletes, oldest first.
SELECT id, workspace_id, trashed_at FROM profiles
WHERE trashed_at IS NOT NULL AND trashed_at < CAST(@before AS INTEGER)
ORDER BY trashed_at, id
LIMIT CAST(@limit AS INTEGER);

-- name: ListProfilesNotStopped :many
-- ListProfilesNotStopped returns the profiles that a boot compares with the running shims, and the failed ones.
SELECT * FROM profiles WHERE status <> 'stopped' ORDER BY status, id;

-- name: ResetStatus :execrows
-- ResetStatus replaces one status by another in all profiles. It changes no other column.
UPDATE profiles SET status = @to_status WHERE status <> 'stopped' AND status = @from_status;

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

-- name: CountProfiles :one
-- CountProfiles counts with filters, which needs a scan. Without filters use the counters of workspaces.
SELECT count(*) FROM profiles
WHERE trashed = @trashed
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(search) AS TEXT) IS NULL OR instr(search_key, sqlc.narg(search)) > 0)
  AND (CAST(sqlc.narg(tags) AS TEXT) IS NULL OR NOT EXISTS (
        SELECT 1 FROM json_each(sqlc.narg(tags)) AS wanted WHERE instr(tags_key, char(10) || wanted.value || char(10)) = 0))
  AND (CAST(sqlc.narg(status) AS TEXT) IS NULL OR status = sqlc.narg(status))
  AND (CAST(sqlc.narg(proxy_id) AS TEXT) IS NULL OR proxy_id = sqlc.narg(proxy_id))
  AND (CAST(sqlc.narg(os) AS TEXT) IS NULL OR os = sqlc.narg(os));

-- name: CountProfilesOfWorkspace :one
SELECT count(*) FROM profiles
WHERE workspace_id = @workspace_id AND trashed = @trashed
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(search) AS TEXT) IS NULL OR instr(search_key, sqlc.narg(search)) > 0)
  AND (CAST(sqlc.narg(tags) AS TEXT) IS NULL OR NOT EXISTS (
        SELECT 1 FROM json_each(sqlc.narg(tags)) AS wanted WHERE instr(tags_key, char(10) || wanted.value || char(10)) = 0))
  AND (CAST(sqlc.narg(status) AS TEXT) IS NULL OR status = sqlc.narg(status))
  AND (CAST(sqlc.narg(proxy_id) AS TEXT) IS NULL OR proxy_id = sqlc.narg(proxy_id))
  AND (CAST(sqlc.narg(os) AS TEXT) IS NULL OR os = sqlc.narg(os));

-- name: PlacesOfStatus :many
-- PlacesOfStatus returns what sorting the profiles of a status other than stopped needs. They are few, found by an index.
SELECT id, version, created_at, updated_at, name, last_started_at FROM profiles
WHERE status <> 'stopped' AND status = @status
  AND trashed = @trashed
  AND (CAST(sqlc.narg(workspace_id) AS TEXT) IS NULL OR workspace_id = sqlc.narg(workspace_id))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(search) AS TEXT) IS NULL OR instr(search_key, sqlc.narg(search)) > 0)
  AND (CAST(sqlc.narg(tags) AS TEXT) IS NULL OR NOT EXISTS (
        SELECT 1 FROM json_each(sqlc.narg(tags)) AS wanted WHERE instr(tags_key, char(10) || wanted.value || char(10)) = 0))
  AND (CAST(sqlc.narg(proxy_id) AS TEXT) IS NULL OR proxy_id = sqlc.narg(proxy_id))
  AND (CAST(sqlc.narg(os) AS TEXT) IS NULL OR os = sqlc.narg(os));

-- name: PlacesOfProxy :many
-- PlacesOfProxy returns the same for the profiles of a proxy.
SELECT id, version, created_at, updated_at, name, last_started_at FROM profiles
WHERE proxy_id = CAST(@proxy_id AS TEXT)
  AND trashed = @trashed
  AND (CAST(sqlc.narg(workspace_id) AS TEXT) IS NULL OR workspace_id = sqlc.narg(workspace_id))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(search) AS TEXT) IS NULL OR instr(search_key, sqlc.narg(search)) > 0)
  AND (CAST(sqlc.narg(tags) AS TEXT) IS NULL OR NOT EXISTS (
        SELECT 1 FROM json_each(sqlc.narg(tags)) AS wanted WHERE instr(tags_key, char(10) || wanted.value || char(10)) = 0))
  AND (CAST(sqlc.narg(status) AS TEXT) IS NULL OR status = sqlc.narg(status))
  AND (CAST(sqlc.narg(os) AS TEXT) IS NULL OR os = sqlc.narg(os));

-- name: GetProfiles :many
-- GetProfiles returns the existing profiles of a JSON array of ids, unsorted, also from the trash.
SELECT * FROM profiles
WHERE id IN (SELECT value FROM json_each(CAST(@ids AS TEXT)))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- The lists: one query per order, for all workspaces and for one.
-- Each starts behind a position (@after_key, @after_id).
-- store.ListProfiles chooses the position before the first row and the query. It takes rows of the same version from
-- memory, since reading thirty columns costs more than finding the row.
-- The CAST of the limit saves time: SQLite plans a statement anew whenever a bare parameter of LIMIT is bound.

-- name: ListProfilesByCreatedDesc :many
SELECT id, version FROM profiles
WHERE trashed = @trashed
  AND (created_at, id) < (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(search) AS TEXT) IS NULL OR instr(search_key, sqlc.narg(search)) > 0)
  AND (CAST(sqlc.narg(tags) AS TEXT) IS NULL OR NOT EXISTS (
        SELECT 1 FROM json_each(sqlc.narg(tags)) AS wanted WHERE instr(tags_key, char(10) || wanted.value || char(10)) = 0))
  AND (CAST(sqlc.narg(status) AS TEXT) IS NULL OR status = sqlc.narg(status))
  AND (CAST(sqlc.narg(proxy_id) AS TEXT) IS NULL OR proxy_id = sqlc.narg(proxy_id))
  AND (CAST(sqlc.narg(os) AS TEXT) IS NULL OR os = sqlc.narg(os))
ORDER BY created_at DESC, id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: ListProfilesByCreatedAsc :many
SELECT id, version FROM profiles
WHERE trashed = @trashed
  AND (created_at, id) > (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(search) AS TEXT) IS NULL OR instr(search_key, sqlc.narg(search)) > 0)
  AND (CAST(sqlc.narg(tags) AS TEXT) IS NULL OR NOT EXISTS (
        SELECT 1 FROM json_each(sqlc.narg(tags)) AS wanted WHERE instr(tags_key, char(10) || wanted.value || char(10)) = 0))
  AND (CAST(sqlc.narg(status) AS TEXT) IS NULL OR status = sqlc.narg(status))
  AND (CAST(sqlc.narg(proxy_id) AS TEXT) IS NULL OR proxy_id = sqlc.narg(proxy_id))
  AND (CAST(sqlc.narg(os) AS TEXT) IS NULL OR os = sqlc.narg(os))
ORDER BY created_at, id
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: ListProfilesByUpdatedDesc :many
SELECT id, version FROM profiles
WHERE trashed = @trashed
  AND (updated_at, id) < (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(search) AS TEXT) IS NULL OR instr(search_key, sqlc.narg(search)) > 0)
  AND (CAST(sqlc.narg(tags) AS TEXT) IS NULL OR NOT EXISTS (
        SELECT 1 FROM json_each(sqlc.narg(tags)) AS wanted WHERE instr(tags_key, char(10) || wanted.value || char(10)) = 0))
  AND (CAST(sqlc.narg(status) AS TEXT) IS NULL OR status = sqlc.narg(status))
  AND (CAST(sqlc.narg(proxy_id) AS TEXT) IS NULL OR proxy_id = sqlc.narg(proxy_id))
  AND (CAST(sqlc.narg(os) AS TEXT) IS NULL OR os = sqlc.narg(os))
ORDER BY updated_at DESC, id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: ListProfilesByUpdatedAsc :many
SELECT id, version FROM profiles
WHERE trashed = @trashed
  AND (updated_at, id) > (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(search) AS TEXT) IS NULL OR instr(search_key, sqlc.narg(search)) > 0)
  AND (CAST(sqlc.narg(tags) AS TEXT) IS NULL OR NOT EXISTS (
        SELECT 1 FROM json_each(sqlc.narg(tags)) AS wanted WHERE instr(tags_key, char(10) || wanted.value || char(10)) = 0))
  AND (CAST(sqlc.narg(status) AS TEXT) IS NULL OR status = sqlc.narg(status))
  AND (CAST(sqlc.narg(proxy_id) AS TEXT) IS NULL OR proxy_id = sqlc.narg(proxy_id))
  AND (CAST(sqlc.narg(os) AS TEXT) IS NULL OR os = sqlc.narg(os))
ORDER BY updated_at, id
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: ListProfilesByNameDesc :many
SELECT id, version FROM profiles
WHERE trashed = @trashed
  AND (name, id) < (+CAST(@after_key AS TEXT), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(search) AS TEXT) IS NULL OR instr(search_key, sqlc.narg(search)) > 0)
  AND (CAST(sqlc.narg(tags) AS TEXT) IS NULL OR NOT EXISTS (
        SELECT 1 FROM json_each(sqlc.narg(tags)) AS wanted WHERE instr(tags_key, char(10) || wanted.value || char(10)) = 0))
  AND (CAST(sqlc.narg(status) AS TEXT) IS NULL OR status = sqlc.narg(status))
  AND (CAST(sqlc.narg(proxy_id) AS TEXT) IS NULL OR proxy_id = sqlc.narg(proxy_id))
  AND (CAST(sqlc.narg(os) AS TEXT) IS NULL OR os = sqlc.narg(os))
ORDER BY name DESC, id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: ListProfilesByNameAsc :many
SELECT id, version FROM profiles
WHERE trashed = @trashed
  AND (name, id) > (+CAST(@after_key AS TEXT), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(search) AS TEXT) IS NULL OR instr(search_key, sqlc.narg(search)) > 0)
  AND (CAST(sqlc.narg(tags) AS TEXT) IS NULL OR NOT EXISTS (
        SELECT 1 FROM json_each(sqlc.narg(tags)) AS wanted WHERE instr(tags_key, char(10) || wanted.value || char(10)) = 0))
  AND (CAST(sqlc.narg(status) AS TEXT) IS NULL OR status = sqlc.narg(status))
  AND (CAST(sqlc.narg(proxy_id) AS TEXT) IS NULL OR proxy_id = sqlc.narg(proxy_id))
  AND (CAST(sqlc.narg(os) AS TEXT) IS NULL OR os = sqlc.narg(os))
ORDER BY name, id
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: ListProfilesByStartedDesc :many
SELECT id, version FROM profiles
WHERE trashed = @trashed
  AND (last_started_at, id) < (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(search) AS TEXT) IS NULL OR instr(search_key, sqlc.narg(search)) > 0)
  AND (CAST(sqlc.narg(tags) AS TEXT) IS NULL OR NOT EXISTS (
        SELECT 1 FROM json_each(sqlc.narg(tags)) AS wanted WHERE instr(tags_key, char(10) || wanted.value || char(10)) = 0))
  AND (CAST(sqlc.narg(status) AS TEXT) IS NULL OR status = sqlc.narg(status))
  AND (CAST(sqlc.narg(proxy_id) AS TEXT) IS NULL OR proxy_id = sqlc.narg(proxy_id))
  AND (CAST(sqlc.narg(os) AS TEXT) IS NULL OR os = sqlc.narg(os))
ORDER BY last_started_at DESC, id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: ListProfilesByStartedAsc :many
SELECT id, version FROM profiles
WHERE trashed = @trashed
  AND (last_started_at, id) > (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(search) AS TEXT) IS NULL OR instr(search_key, sqlc.narg(search)) > 0)
  AND (CAST(sqlc.narg(tags) AS TEXT) IS NULL OR NOT EXISTS (
        SELECT 1 FROM json_each(sqlc.narg(tags)) AS wanted WHERE instr(tags_key, char(10) || wanted.value || char(10)) = 0))
  AND (CAST(sqlc.narg(status) AS TEXT) IS NULL OR status = sqlc.narg(status))
  AND (CAST(sqlc.narg(proxy_id) AS TEXT) IS NULL OR proxy_id = sqlc.narg(proxy_id))
  AND (CAST(sqlc.narg(os) AS TEXT) IS NULL OR os = sqlc.narg(os))
ORDER BY last_started_at, id
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: ListProfilesOfWorkspaceByCreatedDesc :many
SELECT id, version FROM profiles
WHERE workspace_id = @workspace_id AND trashed = @trashed
  AND (created_at, id) < (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(search) AS TEXT) IS NULL OR instr(search_key, sqlc.narg(search)) > 0)
  AND (CAST(sqlc.narg(tags) AS TEXT) IS NULL OR NOT EXISTS (
        SELECT 1 FROM json_each(sqlc.narg(tags)) AS wanted WHERE instr(tags_key, char(10) || wanted.value || char(10)) = 0))
  AND (CAST(sqlc.narg(status) AS TEXT) IS NULL OR status = sqlc.narg(status))
  AND (CAST(sqlc.narg(proxy_id) AS TEXT) IS NULL OR proxy_id = sqlc.narg(proxy_id))
  AND (CAST(sqlc.narg(os) AS TEXT) IS NULL OR os = sqlc.narg(os))
ORDER BY created_at DESC, id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: ListProfilesOfWorkspaceByCreatedAsc :many
SELECT id, version FROM profiles
WHERE workspace_id = @workspace_id AND trashed = @trashed
  AND (created_at, id) > (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(search) AS TEXT) IS NULL OR instr(search_key, sqlc.narg(search)) > 0)
  AND (CAST(sqlc.narg(tags) AS TEXT) IS NULL OR NOT EXISTS (
        SELECT 1 FROM json_each(sqlc.narg(tags)) AS wanted WHERE instr(tags_key, char(10) || wanted.value || char(10)) = 0))
  AND (CAST(sqlc.narg(status) AS TEXT) IS NULL OR status = sqlc.narg(status))
  AND (CAST(sqlc.narg(proxy_id) AS TEXT) IS NULL OR proxy_id = sqlc.narg(proxy_id))
  AND (CAST(sqlc.narg(os) AS TEXT) IS NULL OR os = sqlc.narg(os))
ORDER BY created_at, id
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: ListProfilesOfWorkspaceByUpdatedDesc :many
SELECT id, version FROM profiles
WHERE workspace_id = @workspace_id AND trashed = @trashed
  AND (updated_at, id) < (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(search) AS TEXT) IS NULL OR instr(search_key, sqlc.narg(search)) > 0)
  AND (CAST(sqlc.narg(tags) AS TEXT) IS NULL OR NOT EXISTS (
        SELECT 1 FROM json_each(sqlc.narg(tags)) AS wanted WHERE instr(tags_key, char(10) || wanted.value || char(10)) = 0))
  AND (CAST(sqlc.narg(status) AS TEXT) IS NULL OR status = sqlc.narg(status))
  AND (CAST(sqlc.narg(proxy_id) AS TEXT) IS NULL OR proxy_id = sqlc.narg(proxy_id))
  AND (CAST(sqlc.narg(os) AS TEXT) IS NULL OR os = sqlc.narg(os))
ORDER BY updated_at DESC, id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: ListProfilesOfWorkspaceByUpdatedAsc :many
SELECT id, version FROM profiles
WHERE workspace_id = @workspace_id AND trashed = @trashed
  AND (updated_at, id) > (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(search) AS TEXT) IS NULL OR instr(search_key, sqlc.narg(search)) > 0)
  AND (CAST(sqlc.narg(tags) AS TEXT) IS NULL OR NOT EXISTS (
        SELECT 1 FROM json_each(sqlc.narg(tags)) AS wanted WHERE instr(tags_key, char(10) || wanted.value || char(10)) = 0))
  AND (CAST(sqlc.narg(status) AS TEXT) IS NULL OR status = sqlc.narg(status))
  AND (CAST(sqlc.narg(proxy_id) AS TEXT) IS NULL OR proxy_id = sqlc.narg(proxy_id))
  AND (CAST(sqlc.narg(os) AS TEXT) IS NULL OR os = sqlc.narg(os))
ORDER BY updated_at, id
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: ListProfilesOfWorkspaceByNameDesc :many
SELECT id, version FROM profiles
WHERE workspace_id = @workspace_id AND trashed = @trashed
  AND (name, id) < (+CAST(@after_key AS TEXT), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(search) AS TEXT) IS NULL OR instr(search_key, sqlc.narg(search)) > 0)
  AND (CAST(sqlc.narg(tags) AS TEXT) IS NULL OR NOT EXISTS (
        SELECT 1 FROM json_each(sqlc.narg(tags)) AS wanted WHERE instr(tags_key, char(10) || wanted.value || char(10)) = 0))
  AND (CAST(sqlc.narg(status) AS TEXT) IS NULL OR status = sqlc.narg(status))
  AND (CAST(sqlc.narg(proxy_id) AS TEXT) IS NULL OR proxy_id = sqlc.narg(proxy_id))
  AND (CAST(sqlc.narg(os) AS TEXT) IS NULL OR os = sqlc.narg(os))
ORDER BY name DESC, id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: ListProfilesOfWorkspaceByNameAsc :many
SELECT id, version FROM profiles
WHERE workspace_id = @workspace_id AND trashed = @trashed
  AND (name, id) > (+CAST(@after_key AS TEXT), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(search) AS TEXT) IS NULL OR instr(search_key, sqlc.narg(search)) > 0)
  AND (CAST(sqlc.narg(tags) AS TEXT) IS NULL OR NOT EXISTS (
        SELECT 1 FROM json_each(sqlc.narg(tags)) AS wanted WHERE instr(tags_key, char(10) || wanted.value || char(10)) = 0))
  AND (CAST(sqlc.narg(status) AS TEXT) IS NULL OR status = sqlc.narg(status))
  AND (CAST(sqlc.narg(proxy_id) AS TEXT) IS NULL OR proxy_id = sqlc.narg(proxy_id))
  AND (CAST(sqlc.narg(os) AS TEXT) IS NULL OR os = sqlc.narg(os))
ORDER BY name, id
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: ListProfilesOfWorkspaceByStartedDesc :many
SELECT id, version FROM profiles
WHERE workspace_id = @workspace_id AND trashed = @trashed
  AND (last_started_at, id) < (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(search) AS TEXT) IS NULL OR instr(search_key, sqlc.narg(search)) > 0)
  AND (CAST(sqlc.narg(tags) AS TEXT) IS NULL OR NOT EXISTS (
        SELECT 1 FROM json_each(sqlc.narg(tags)) AS wanted WHERE instr(tags_key, char(10) || wanted.value || char(10)) = 0))
  AND (CAST(sqlc.narg(status) AS TEXT) IS NULL OR status = sqlc.narg(status))
  AND (CAST(sqlc.narg(proxy_id) AS TEXT) IS NULL OR proxy_id = sqlc.narg(proxy_id))
  AND (CAST(sqlc.narg(os) AS TEXT) IS NULL OR os = sqlc.narg(os))
ORDER BY last_started_at DESC, id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: ListProfilesOfWorkspaceByStartedAsc :many
SELECT id, version FROM profiles
WHERE workspace_id = @workspace_id AND trashed = @trashed
  AND (last_started_at, id) > (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
  AND (CAST(sqlc.narg(search) AS TEXT) IS NULL OR instr(search_key, sqlc.narg(search)) > 0)
  AND (CAST(sqlc.narg(tags) AS TEXT) IS NULL OR NOT EXISTS (
        SELECT 1 FROM json_each(sqlc.narg(tags)) AS wanted WHERE instr(tags_key, char(10) || wanted.value || char(10)) = 0))
  AND (CAST(sqlc.narg(status) AS TEXT) IS NULL OR status = sqlc.narg(status))
  AND (CAST(sqlc.narg(proxy_id) AS TEXT) IS NULL OR proxy_id = sqlc.narg(proxy_id))
  AND (CAST(sqlc.narg(os) AS TEXT) IS NULL OR os = sqlc.narg(os))
ORDER BY last_started_at, id
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;
