-- name: UpsertTraffic :exec
-- UpsertTraffic stores a run's sums for a proxy and a day. A report that arrives late reduces nothing.
INSERT INTO traffic (run_id, proxy_id, day, profile_id, workspace_id, bytes_up, bytes_down, connections)
VALUES (@run_id, @proxy_id, @day, @profile_id, @workspace_id, @bytes_up, @bytes_down, @connections)
ON CONFLICT (run_id, proxy_id, day) DO UPDATE SET
    bytes_up = max(bytes_up, excluded.bytes_up), bytes_down = max(bytes_down, excluded.bytes_down), connections = max(connections, excluded.connections);

-- name: ListTrafficOfProxy :many
-- ListTrafficOfProxy returns a proxy's traffic from one day to another, by day and run.
SELECT * FROM traffic
WHERE proxy_id = @proxy_id AND day >= @from_day AND day <= @to_day
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY day, run_id;

-- name: ListTrafficOfProfile :many
-- ListTrafficOfProfile returns the traffic of a profile's runs from one day to another, by day and run.
SELECT * FROM traffic
WHERE profile_id = @profile_id AND day >= @from_day AND day <= @to_day
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY day, run_id, proxy_id;

-- name: PurgeTraffic :execrows
DELETE FROM traffic WHERE day < CAST(@before AS INTEGER);
