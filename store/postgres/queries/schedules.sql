-- name: InsertSchedule :one
INSERT INTO schedules (id, workspace_id, name, search_key, enabled, cron, time_zone, every_ms, action, profile_ids, proxy_ids,
    tag, start_urls, max_run_ms, catch_up, next_at, planned_at, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
    $11, $12, $13, $14, $15, $16, $17,
    $18, $19)
RETURNING id, workspace_id, name, search_key, enabled, cron, time_zone, every_ms, action, profile_ids, proxy_ids, tag,
    start_urls, max_run_ms, catch_up, next_at, planned_at, last_run, missed, missed_at, skipped, skipped_at, revision,
    created_at, updated_at, node_id;

-- name: GetSchedule :one
SELECT id, workspace_id, name, search_key, enabled, cron, time_zone, every_ms, action, profile_ids, proxy_ids, tag, start_urls,
    max_run_ms, catch_up, next_at, planned_at, last_run, missed, missed_at, skipped, skipped_at, revision, created_at,
    updated_at, node_id
FROM schedules
WHERE id = $1
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: ListSchedules :many
SELECT id, workspace_id, name, search_key, enabled, cron, time_zone, every_ms, action, profile_ids, proxy_ids, tag, start_urls,
    max_run_ms, catch_up, next_at, planned_at, last_run, missed, missed_at, skipped, skipped_at, revision, created_at,
    updated_at, node_id
FROM schedules
WHERE (created_at, id) < ($1::bigint, $2::text)
  AND ($3::text = '' OR workspace_id = $3)
  AND strpos(search_key, $4::text) > 0
  AND ($5::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($5::text::json))))
ORDER BY created_at DESC, id DESC
LIMIT $7::bigint OFFSET $6;

-- name: CountSchedules :one
SELECT count(*) FROM schedules
WHERE ($1::text = '' OR workspace_id = $1)
  AND strpos(search_key, $2::text) > 0
  AND ($3::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($3::text::json))));

-- name: UpdateSchedule :one
UPDATE schedules SET name = $1, search_key = $2, enabled = $3, cron = $4, time_zone = $5,
    every_ms = $6, action = $7, profile_ids = $8, proxy_ids = $9,
    tag = $10, start_urls = $11, max_run_ms = $12, catch_up = $13,
    next_at = $14, planned_at = $15, updated_at = $16, revision = revision + 1
WHERE id = $17 AND revision = $18
  AND ($19::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($19::text::json))))
RETURNING id, workspace_id, name, search_key, enabled, cron, time_zone, every_ms, action, profile_ids, proxy_ids, tag,
    start_urls, max_run_ms, catch_up, next_at, planned_at, last_run, missed, missed_at, skipped, skipped_at, revision,
    created_at, updated_at, node_id;

-- name: DeleteSchedule :execrows
DELETE FROM schedules
WHERE id = $1
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: ListSchedulesDue :many
SELECT id, workspace_id, name, search_key, enabled, cron, time_zone, every_ms, action, profile_ids, proxy_ids, tag, start_urls,
    max_run_ms, catch_up, next_at, planned_at, last_run, missed, missed_at, skipped, skipped_at, revision, created_at,
    updated_at, node_id
FROM schedules WHERE next_at <= $1::bigint ORDER BY next_at, id LIMIT $2::bigint;

-- name: ListSchedulesAhead :many
SELECT id, workspace_id, name, search_key, enabled, cron, time_zone, every_ms, action, profile_ids, proxy_ids, tag, start_urls,
    max_run_ms, catch_up, next_at, planned_at, last_run, missed, missed_at, skipped, skipped_at, revision, created_at,
    updated_at, node_id
FROM schedules WHERE next_at IS NOT NULL AND planned_at > $1::bigint
  AND (every_ms IS NOT NULL OR planned_at > $2::bigint)
ORDER BY planned_at, id LIMIT $3::bigint;

-- name: NextScheduled :many
SELECT CAST(next_at AS BIGINT) FROM schedules WHERE next_at IS NOT NULL ORDER BY next_at LIMIT 1;

-- name: PlanSchedule :execrows
UPDATE schedules SET next_at = $1, planned_at = $2, missed = missed + $3::bigint,
    missed_at = coalesce($4, missed_at), skipped = skipped + $5::bigint,
    skipped_at = coalesce($6, skipped_at), last_run = coalesce($7, last_run), node_id = coalesce($8, node_id)
WHERE id = $9 AND revision = $10 AND next_at = $11::bigint;

-- name: SetScheduleRun :execrows
UPDATE schedules SET last_run = $1 WHERE id = $2 AND node_id = $3;

-- name: InterruptSchedules :execrows
UPDATE schedules SET last_run = (
    SELECT '{' || string_agg(to_json(key)::text || ':' || CASE key WHEN 'status' THEN '"interrupted"' ELSE value::text END, ','
        ORDER BY n) || '}'
    FROM json_each(last_run::json) WITH ORDINALITY AS member (key, value, n))
WHERE node_id IN ($1::text, '') AND last_run::json ->> 'status' = 'running';
