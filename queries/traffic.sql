-- name: UpsertTraffic :exec
-- UpsertTraffic notes what a run says of a proxy and a day. It says its sums: an older word takes nothing back.
INSERT INTO traffic (run_id, proxy_id, day, profile_id, workspace_id, bytes_up, bytes_down, connections)
VALUES (@run_id, @proxy_id, @day, @profile_id, @workspace_id, @bytes_up, @bytes_down, @connections)
ON CONFLICT (run_id, proxy_id, day) DO UPDATE SET
    bytes_up = max(bytes_up, excluded.bytes_up), bytes_down = max(bytes_down, excluded.bytes_down), connections = max(connections, excluded.connections);

-- name: ListTrafficOfProxy :many
-- ListTrafficOfProxy gives what went through a proxy, from a day to a day, in the order of the days.
SELECT * FROM traffic
WHERE proxy_id = @proxy_id AND day >= @from_day AND day <= @to_day
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY day;

-- name: ListTrafficOfProfile :many
-- ListTrafficOfProfile gives what a profile's runs sent and got, from a day to a day, in the order of the days.
SELECT * FROM traffic
WHERE profile_id = @profile_id AND day >= @from_day AND day <= @to_day
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY day;

-- name: PurgeTraffic :execrows
DELETE FROM traffic WHERE day < CAST(@before AS INTEGER);
