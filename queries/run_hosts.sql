-- name: InsertRunHosts :exec
-- InsertRunHosts keeps the hosts of a run that is over.
INSERT INTO run_hosts (run_id, hosts) VALUES (@run_id, @hosts) ON CONFLICT (run_id) DO UPDATE SET hosts = excluded.hosts;

-- name: GetRunHosts :one
-- GetRunHosts gives the hosts of a run, which was read under the key's workspaces.
SELECT hosts FROM run_hosts WHERE run_id = @run_id;
