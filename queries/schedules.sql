-- Every query that a caller of the API reaches takes the key's workspaces: a JSON array, or NULL for all.

-- name: InsertSchedule :one
INSERT INTO schedules (id, workspace_id, name, search_key, enabled, cron, time_zone, every_ms, action, profile_ids, proxy_ids, tag,
    start_urls, max_run_ms, catch_up, next_at, planned_at, created_at, updated_at)
VALUES (@id, @workspace_id, @name, @search_key, @enabled, @cron, @time_zone, sqlc.narg(every_ms), @action, sqlc.narg(profile_ids),
    sqlc.narg(proxy_ids), sqlc.narg(tag), sqlc.narg(start_urls), sqlc.narg(max_run_ms), @catch_up, sqlc.narg(next_at), @planned_at,
    @created_at, @updated_at)
RETURNING *;

-- name: GetSchedule :one
SELECT * FROM schedules
WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ListSchedules :many
-- ListSchedules returns schedules newest first, behind a position: of one workspace, or of all if it is ''; whose name
-- contains a case-folded text.
SELECT * FROM schedules
WHERE (created_at, id) < (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(@in_workspace AS TEXT) = '' OR workspace_id = @in_workspace)
  AND instr(search_key, CAST(@search AS TEXT)) > 0
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY created_at DESC, id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: CountSchedules :one
-- CountSchedules counts what ListSchedules lists.
SELECT count(*) FROM schedules
WHERE (CAST(@in_workspace AS TEXT) = '' OR workspace_id = @in_workspace)
  AND instr(search_key, CAST(@search AS TEXT)) > 0
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: UpdateSchedule :one
-- UpdateSchedule returns no row if the schedule is unknown, foreign, or changed since @revision.
UPDATE schedules SET name = @name, search_key = @search_key, enabled = @enabled, cron = @cron, time_zone = @time_zone,
    every_ms = sqlc.narg(every_ms), action = @action, profile_ids = sqlc.narg(profile_ids), proxy_ids = sqlc.narg(proxy_ids),
    tag = sqlc.narg(tag), start_urls = sqlc.narg(start_urls), max_run_ms = sqlc.narg(max_run_ms), catch_up = @catch_up,
    next_at = sqlc.narg(next_at), planned_at = @planned_at, updated_at = @updated_at, revision = revision + 1
WHERE id = @id AND revision = @revision
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
RETURNING *;

-- name: DeleteSchedule :execrows
DELETE FROM schedules
WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ListSchedulesDue :many
-- ListSchedulesDue returns the schedules with an occurrence at or before a time, the longest due first.
SELECT * FROM schedules WHERE next_at <= CAST(@now AS INTEGER) ORDER BY next_at, id LIMIT CAST(@limit AS INTEGER);

-- name: ListSchedulesAhead :many
-- ListSchedulesAhead returns the schedules that were planned after a time, since the clock was ahead: those with an interval, and others
-- that were planned after @slack.
SELECT * FROM schedules WHERE next_at IS NOT NULL AND planned_at > CAST(@now AS INTEGER)
  AND (every_ms IS NOT NULL OR planned_at > CAST(@slack AS INTEGER))
ORDER BY planned_at, id LIMIT CAST(@limit AS INTEGER);

-- name: NextScheduled :many
-- NextScheduled returns the time of the next occurrence of all schedules, if there is one.
SELECT CAST(next_at AS INTEGER) FROM schedules WHERE next_at IS NOT NULL ORDER BY next_at LIMIT 1;

-- name: PlanSchedule :execrows
-- PlanSchedule moves a schedule on from the occurrence @due. It changes no row if a caller changed or deleted it meanwhile.
UPDATE schedules SET next_at = sqlc.narg(next_at), planned_at = @planned_at, missed = missed + CAST(@missed AS INTEGER),
    missed_at = coalesce(sqlc.narg(missed_at), missed_at), skipped = skipped + CAST(@skipped AS INTEGER),
    skipped_at = coalesce(sqlc.narg(skipped_at), skipped_at), last_run = coalesce(sqlc.narg(last_run), last_run),
    node_id = coalesce(sqlc.narg(node_id), node_id)
WHERE id = @id AND revision = @revision AND next_at = CAST(@due AS INTEGER);

-- name: SetScheduleRun :execrows
-- SetScheduleRun changes no row if the schedule was deleted, or if another server has run it since.
UPDATE schedules SET last_run = @last_run WHERE id = @id AND node_id = @node_id;

-- name: InterruptSchedules :execrows
-- InterruptSchedules records that the occurrences of an earlier life of a server did not come to their end.
UPDATE schedules SET last_run = json_set(last_run, '$.status', 'interrupted')
WHERE node_id IN (CAST(@node_id AS TEXT), '') AND json_extract(last_run, '$.status') = 'running';
