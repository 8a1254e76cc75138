-- name: ClaimNode :exec
INSERT INTO nodes (id, name, address, version, incarnation, beat_at, started_at, capacity, labels, schema)
VALUES ($1, $2, $3, $4, $5, (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint, $6, $7, $8)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, address = excluded.address, version = excluded.version,
    incarnation = excluded.incarnation, beat = nodes.beat + 1, beat_at = excluded.beat_at, started_at = excluded.started_at,
    stopped = 0, capacity = excluded.capacity, labels = excluded.labels,
    schema = excluded.schema;

-- name: BeatNode :one
UPDATE nodes SET beat = beat + 1, beat_at = (extract(epoch FROM clock_timestamp()) * 1000)::bigint, running = $1, browsers = $2,
    pressure = $3
WHERE id = $4 AND incarnation = $5
RETURNING draining;

-- name: StopNode :execrows
UPDATE nodes SET stopped = 1, running = $1 WHERE id = $2 AND incarnation = $3;

-- name: GetNode :one
SELECT id, name, address, version, incarnation, beat, beat_at, started_at, stopped, capacity, running, browsers, labels, draining,
    schema, pressure
FROM nodes WHERE id = $1;

-- name: ListNodes :many
SELECT id, name, address, version, incarnation, beat, beat_at, started_at, stopped, capacity, running, browsers, labels, draining,
    schema, pressure
FROM nodes ORDER BY name, id;

-- name: DrainNode :execrows
UPDATE nodes SET draining = $1 WHERE id = $2;

-- name: DeleteNode :execrows
DELETE FROM nodes WHERE id = $1;

-- name: DatabaseTime :one
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint;

-- name: PlaceProfile :execrows
UPDATE profiles SET node_id = $1::text WHERE id = $2 AND node_id IS NULL;

-- name: PlaceProfiles :execrows
UPDATE profiles SET node_id = $1::text
WHERE node_id IS NULL AND id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json)));

-- name: CountProfilesOfNode :one
SELECT count(*) FROM profiles WHERE node_id = $1::text;

-- name: HasProfilesElsewhere :one
SELECT EXISTS (SELECT 1 FROM profiles WHERE node_id < $1::text OR node_id > $1::text)::int::bigint;

-- name: CountBusyProfiles :many
SELECT node_id, count(*) AS busy FROM profiles
WHERE status <> 'stopped' AND status <> 'failed' AND node_id IS NOT NULL
GROUP BY node_id;

-- name: CountRunningBeside :one
SELECT count(*) FROM profiles
WHERE status <> 'stopped' AND status <> 'failed' AND status <> 'starting' AND workspace_id = $1::text AND id <> $2::text;

-- name: CountRunningElsewhere :many
SELECT workspace_id, count(*) AS running FROM profiles
WHERE status <> 'stopped' AND status <> 'failed' AND node_id <> $1::text
GROUP BY workspace_id;

-- name: UnplaceProfiles :execrows
UPDATE profiles SET node_id = NULL, head_id = NULL, snapshot_due = 0 WHERE node_id = $1::text;

-- name: DeleteSnapshotsOfNode :execrows
DELETE FROM snapshots WHERE profile_id IN (SELECT profiles.id FROM profiles WHERE node_id = $1::text);

-- name: ListOpenRunsOfNode :many
SELECT runs.id, runs.profile_id, runs.workspace_id, runs.started_at, runs.ended_at, runs.outcome, runs.record
FROM runs JOIN profiles ON profiles.id = runs.profile_id
WHERE profiles.node_id = $1::text AND runs.ended_at IS NULL
ORDER BY runs.id;

-- name: ListOpenRunsElsewhere :many
SELECT runs.id, runs.profile_id, runs.workspace_id, runs.record, profiles.name, profiles.status, profiles.node_id
FROM runs JOIN profiles ON profiles.id = runs.profile_id
WHERE runs.ended_at IS NULL AND profiles.node_id <> $1::text
  AND ($2::text IS NULL OR runs.workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: ListProxiesOfRunsElsewhere :many
SELECT runs.record::json #>> '{proxy,id}' AS proxy_id
FROM runs JOIN profiles ON profiles.id = runs.profile_id
WHERE runs.ended_at IS NULL AND profiles.node_id <> $1::text AND runs.workspace_id = $2
  AND runs.record::json #>> '{proxy,id}' IS NOT NULL;

-- name: ListOpenRunsOfProfiles :many
SELECT id, profile_id, workspace_id, started_at, ended_at, outcome, record
FROM runs WHERE ended_at IS NULL AND profile_id = ANY (ARRAY(SELECT json_array_elements_text($1::text::json)));

-- name: SettleProfilesOfNode :execrows
UPDATE profiles SET status = 'stopped'
WHERE node_id = $1::text AND status IN ('starting', 'running', 'stopping');

-- name: TakeDuty :execrows
INSERT INTO duties (name, holder, until) VALUES ($1, $2, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $3::bigint)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE duties.holder = excluded.holder OR duties.until <= (extract(epoch FROM clock_timestamp()) * 1000)::bigint;

-- name: LeaveDuty :execrows
DELETE FROM duties WHERE name = $1 AND holder = $2;
