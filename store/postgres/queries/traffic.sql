-- name: UpsertTraffic :exec
INSERT INTO traffic (run_id, proxy_id, day, profile_id, workspace_id, bytes_up, bytes_down, connections)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (run_id, proxy_id, day) DO UPDATE SET bytes_up = greatest(traffic.bytes_up, excluded.bytes_up),
    bytes_down = greatest(traffic.bytes_down, excluded.bytes_down),
    connections = greatest(traffic.connections, excluded.connections);

-- name: ListTrafficOfProxy :many
SELECT run_id, proxy_id, day, profile_id, workspace_id, bytes_up, bytes_down, connections FROM traffic
WHERE proxy_id = $1 AND day >= $2 AND day <= $3
  AND ($4::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($4::text::json))))
ORDER BY day, run_id;

-- name: ListTrafficOfProfile :many
SELECT run_id, proxy_id, day, profile_id, workspace_id, bytes_up, bytes_down, connections FROM traffic
WHERE profile_id = $1 AND day >= $2 AND day <= $3
  AND ($4::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($4::text::json))))
ORDER BY day, run_id, proxy_id;

-- name: PurgeTraffic :execrows
DELETE FROM traffic WHERE day < $1::bigint;
