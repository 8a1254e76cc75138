-- name: InsertProxyCheck :execrows
-- InsertProxyCheck adds to the history if the proxy still exists. Triggers count, and keep the last 100.
INSERT INTO proxy_checks (proxy_id, at, ok, result)
SELECT id, CAST(@at AS INTEGER), CAST(@ok AS INTEGER), CAST(@result AS TEXT) FROM proxies WHERE id = @proxy_id;

-- name: GetLastGoodProxyCheck :one
-- GetLastGoodProxyCheck returns the newest good result among the last 100.
SELECT result FROM proxy_checks
WHERE proxy_id = @proxy_id AND ok = 1
ORDER BY seq DESC
LIMIT 1;

-- name: ListProxyChecks :many
-- ListProxyChecks returns the history, newest first.
SELECT proxy_checks.* FROM proxy_checks
JOIN proxies ON proxies.id = proxy_checks.proxy_id
WHERE proxy_checks.proxy_id = @proxy_id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR proxies.workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY proxy_checks.seq DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: CountProxyChecks :one
-- CountProxyChecks counts the history.
SELECT count(*) FROM proxy_checks
JOIN proxies ON proxies.id = proxy_checks.proxy_id
WHERE proxy_checks.proxy_id = @proxy_id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR proxies.workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: DeleteProxyChecks :execrows
-- DeleteProxyChecks deletes the history, which belongs to an address that the proxy no longer has.
DELETE FROM proxy_checks WHERE proxy_id = @proxy_id;
