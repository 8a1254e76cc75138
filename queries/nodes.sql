-- name: ClaimNode :exec
-- ClaimNode makes the row of a server that starts, or takes it over. Whether it is draining stays as it was.
INSERT INTO nodes (id, name, address, version, incarnation, beat_at, started_at, capacity, labels, schema)
VALUES (@id, @name, @address, @version, @incarnation, CAST(unixepoch('subsec') * 1000 AS INTEGER),
    CAST(unixepoch('subsec') * 1000 AS INTEGER), @capacity, @labels, @schema)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, address = excluded.address, version = excluded.version,
    incarnation = excluded.incarnation, beat = nodes.beat + 1, beat_at = excluded.beat_at, started_at = excluded.started_at,
    stopped = 0, capacity = excluded.capacity, labels = excluded.labels,
    schema = excluded.schema;

-- name: BeatNode :one
-- BeatNode moves the beat. It returns no row if the row is gone or another process has taken it over.
UPDATE nodes SET beat = beat + 1, beat_at = CAST(unixepoch('subsec') * 1000 AS INTEGER), running = @running, browsers = @browsers,
    pressure = @pressure
WHERE id = @id AND incarnation = @incarnation
RETURNING draining;

-- name: StopNode :execrows
-- StopNode records that the server ended in order.
UPDATE nodes SET stopped = 1, running = @running WHERE id = @id AND incarnation = @incarnation;

-- name: GetNode :one
SELECT * FROM nodes WHERE id = @id;

-- name: ListNodes :many
SELECT * FROM nodes ORDER BY name, id;

-- name: DrainNode :execrows
UPDATE nodes SET draining = @draining WHERE id = @id;

-- name: DeleteNode :execrows
DELETE FROM nodes WHERE id = @id;

-- name: DatabaseTime :one
-- DatabaseTime returns the time of the database's clock, in milliseconds.
SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER);

-- name: PlaceProfile :execrows
-- PlaceProfile records which server has a profile's data. A profile that has one already stays there.
UPDATE profiles SET node_id = CAST(@node_id AS TEXT) WHERE id = @id AND node_id IS NULL;

-- name: PlaceProfiles :execrows
-- PlaceProfiles is PlaceProfile for the profiles of a JSON array of ids.
UPDATE profiles SET node_id = CAST(@node_id AS TEXT)
WHERE node_id IS NULL AND id IN (SELECT value FROM json_each(CAST(@ids AS TEXT)));

-- name: CountProfilesOfNode :one
SELECT count(*) FROM profiles WHERE node_id = CAST(@node_id AS TEXT);

-- name: HasProfilesElsewhere :one
-- HasProfilesElsewhere reports whether another server has profiles' data.
SELECT EXISTS (SELECT 1 FROM profiles WHERE node_id < CAST(@node_id AS TEXT) OR node_id > CAST(@node_id AS TEXT));

-- name: CountBusyProfiles :many
-- CountBusyProfiles counts the profiles that start, run or stop on each server. The + keeps it from walking all profiles of the servers.
SELECT node_id, count(*) AS busy FROM profiles
WHERE status <> 'stopped' AND status <> 'failed' AND +node_id IS NOT NULL
GROUP BY +node_id;

-- name: CountRunningBeside :one
-- CountRunningBeside counts the other profiles of a workspace that run, on all servers. The + keeps it from walking the workspace.
SELECT count(*) FROM profiles
WHERE status <> 'stopped' AND status <> 'failed' AND status <> 'starting' AND +workspace_id = CAST(@workspace_id AS TEXT)
  AND +id <> CAST(@id AS TEXT);

-- name: CountRunningElsewhere :many
-- CountRunningElsewhere counts the profiles that other servers start, run or stop, by workspace. The + keeps it from walking all profiles.
SELECT workspace_id, count(*) AS running FROM profiles
WHERE status <> 'stopped' AND status <> 'failed' AND +node_id <> CAST(@node_id AS TEXT)
GROUP BY +workspace_id;

-- name: UnplaceProfiles :execrows
-- UnplaceProfiles gives up the data that a server has. Its profiles go on from nothing.
UPDATE profiles SET node_id = NULL, head_id = NULL, snapshot_due = 0 WHERE node_id = CAST(@node_id AS TEXT);

-- name: DeleteSnapshotsOfNode :execrows
-- DeleteSnapshotsOfNode removes the snapshots of the profiles whose data a server has.
DELETE FROM snapshots WHERE profile_id IN (SELECT profiles.id FROM profiles WHERE node_id = CAST(@node_id AS TEXT));

-- name: ListOpenRunsOfNode :many
-- ListOpenRunsOfNode returns the runs without an end of the profiles whose data a server has.
SELECT runs.* FROM runs JOIN profiles ON profiles.id = runs.profile_id
WHERE profiles.node_id = CAST(@node_id AS TEXT) AND runs.ended_at IS NULL
ORDER BY runs.id;

-- name: ListOpenRunsElsewhere :many
-- ListOpenRunsElsewhere returns the runs without an end that a key may see, of the profiles whose data other servers have, unsorted.
SELECT runs.id, runs.profile_id, runs.workspace_id, runs.record, profiles.name, profiles.status, profiles.node_id
FROM runs JOIN profiles ON profiles.id = runs.profile_id
WHERE runs.ended_at IS NULL AND profiles.node_id <> CAST(@node_id AS TEXT)
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR runs.workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ListProxiesOfRunsElsewhere :many
-- ListProxiesOfRunsElsewhere returns the proxy of each run without an end in a workspace, of the profiles whose data other servers have.
SELECT CAST(json_extract(runs.record, '$.proxy.id') AS TEXT) AS proxy_id
FROM runs JOIN profiles ON profiles.id = runs.profile_id
WHERE runs.ended_at IS NULL AND profiles.node_id <> CAST(@node_id AS TEXT) AND runs.workspace_id = @workspace_id
  AND json_extract(runs.record, '$.proxy.id') IS NOT NULL;

-- name: ListOpenRunsOfProfiles :many
-- ListOpenRunsOfProfiles returns the runs without an end of the profiles of a JSON array of ids, unsorted.
SELECT * FROM runs WHERE ended_at IS NULL AND profile_id IN (SELECT value FROM json_each(CAST(@ids AS TEXT)));

-- name: SettleProfilesOfNode :execrows
-- SettleProfilesOfNode stops the profiles of a server that is gone, of whose run there is no record.
UPDATE profiles SET status = 'stopped'
WHERE node_id = CAST(@node_id AS TEXT) AND status IN ('starting', 'running', 'stopping');

-- name: TakeDuty :execrows
-- TakeDuty takes a duty for so many milliseconds, or keeps it. It affects no row if somebody else has it.
INSERT INTO duties (name, holder, until)
VALUES (@name, @holder, CAST(unixepoch('subsec') * 1000 AS INTEGER) + CAST(@span AS INTEGER))
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE duties.holder = excluded.holder OR duties.until <= CAST(unixepoch('subsec') * 1000 AS INTEGER);

-- name: LeaveDuty :execrows
DELETE FROM duties WHERE name = @name AND holder = @holder;
