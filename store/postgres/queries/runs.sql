-- name: InsertRun :exec
INSERT INTO runs (id, profile_id, workspace_id, started_at, record)
VALUES ($1, $2, (SELECT workspace_id FROM profiles WHERE profiles.id = $2), $3, $4);

-- name: SetRunRecord :execrows
UPDATE runs SET record = $1 WHERE id = $2 AND ended_at IS NULL;

-- name: EndRun :execrows
UPDATE runs SET ended_at = $1::bigint, outcome = $2, record = $3
WHERE id = $4 AND ended_at IS NULL;

-- name: GetRun :one
SELECT id, profile_id, workspace_id, started_at, ended_at, outcome, record FROM runs
WHERE id = $1
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: ListOpenRuns :many
SELECT id, profile_id, workspace_id, started_at, ended_at, outcome, record
FROM runs
WHERE ended_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM profiles WHERE profiles.id = runs.profile_id AND $1::text <> '' AND profiles.node_id <> $1)
ORDER BY started_at, id;

-- name: ListOpenRunsVisible :many
SELECT id, profile_id, workspace_id, started_at, ended_at, outcome, record FROM runs
WHERE ended_at IS NULL
  AND (started_at, id) < ($1::bigint, $2::text)
  AND ($3::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($3::text::json))))
ORDER BY started_at DESC, id DESC
LIMIT $5::bigint OFFSET $4;

-- name: CountOpenRunsVisible :one
SELECT count(*) FROM runs
WHERE ended_at IS NULL
  AND ($1::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($1::text::json))));

-- name: ListRunsOfProfile :many
SELECT id, profile_id, workspace_id, started_at, ended_at, outcome, record FROM runs
WHERE profile_id = $1
  AND (started_at, id) < ($2::bigint, $3::text)
  AND ($4::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($4::text::json))))
ORDER BY started_at DESC, id DESC
LIMIT $6::bigint OFFSET $5;

-- name: CountRunsOfProfile :one
SELECT count(*) FROM runs
WHERE profile_id = $1
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: TrimRunsOfProfile :execrows
DELETE FROM runs
WHERE runs.profile_id = $1 AND runs.ended_at IS NOT NULL AND runs.id NOT IN (
    SELECT kept.id FROM runs AS kept WHERE kept.profile_id = $1
    ORDER BY kept.started_at DESC, kept.id DESC LIMIT $2);
