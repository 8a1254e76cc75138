-- name: InsertRun :exec
-- InsertRun takes the workspace from the profile, and fails if the profile does not exist.
INSERT INTO runs (id, profile_id, workspace_id, started_at, record)
VALUES (@id, @profile_id, (SELECT workspace_id FROM profiles WHERE profiles.id = @profile_id), @started_at, @record);

-- name: SetRunRecord :execrows
-- SetRunRecord replaces the record of an open run.
UPDATE runs SET record = @record WHERE id = @id AND ended_at IS NULL;

-- name: EndRun :execrows
-- EndRun closes a run once. It affects no row if the run has already ended.
UPDATE runs SET ended_at = CAST(@ended_at AS INTEGER), outcome = @outcome, record = @record
WHERE id = @id AND ended_at IS NULL;

-- name: GetRun :one
SELECT * FROM runs
WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ListOpenRuns :many
-- ListOpenRuns returns every open run but those of other servers, oldest first, for the boot. An empty @node_id is the only server.
SELECT * FROM runs
WHERE ended_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM profiles WHERE profiles.id = runs.profile_id AND CAST(@node_id AS TEXT) <> '' AND profiles.node_id <> @node_id)
ORDER BY started_at, id;

-- name: ListOpenRunsVisible :many
-- ListOpenRunsVisible returns the open runs that a key may see, newest first, behind a position.
SELECT * FROM runs
WHERE ended_at IS NULL
  AND (started_at, id) < (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY started_at DESC, id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: CountOpenRunsVisible :one
-- CountOpenRunsVisible scans the open runs: as many as there are browsers.
SELECT count(*) FROM runs
WHERE ended_at IS NULL
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ListRunsOfProfile :many
-- ListRunsOfProfile returns a profile's runs, newest first, behind a position.
SELECT * FROM runs
WHERE profile_id = @profile_id
  AND (started_at, id) < (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY started_at DESC, id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: CountRunsOfProfile :one
SELECT count(*) FROM runs
WHERE profile_id = @profile_id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: TrimRunsOfProfile :execrows
-- TrimRunsOfProfile keeps the newest @keep runs of a profile.
DELETE FROM runs
WHERE runs.profile_id = @profile_id AND runs.ended_at IS NOT NULL AND runs.id NOT IN (
    SELECT kept.id FROM runs AS kept WHERE kept.profile_id = @profile_id
    ORDER BY kept.started_at DESC, kept.id DESC LIMIT @keep);
