-- name: InsertRunHosts :exec
-- InsertRunHosts stores the hosts of an ended run.
INSERT INTO run_hosts (run_id, hosts) VALUES (@run_id, @hosts) ON CONFLICT (run_id) DO UPDATE SET hosts = excluded.hosts;

-- name: GetRunHosts :one
-- GetRunHosts returns the hosts of a run. The caller has read the run under the key's workspaces.
SELECT hosts FROM run_hosts WHERE run_id = @run_id;
