-- name: InsertRunHosts :exec
INSERT INTO run_hosts (run_id, hosts) VALUES ($1, $2) ON CONFLICT (run_id) DO UPDATE SET hosts = excluded.hosts;

-- name: GetRunHosts :one
SELECT hosts FROM run_hosts WHERE run_id = $1;
