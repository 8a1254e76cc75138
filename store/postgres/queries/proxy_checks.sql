-- name: InsertProxyCheck :execrows
INSERT INTO proxy_checks (proxy_id, at, ok, result)
SELECT id, $1::bigint, $2::bigint, $3::text FROM proxies WHERE id = $4;

-- name: GetLastGoodProxyCheck :one
SELECT result FROM proxy_checks
WHERE proxy_id = $1 AND ok = 1
ORDER BY seq DESC
LIMIT 1;

-- name: ListProxyChecks :many
SELECT proxy_checks.seq, proxy_checks.proxy_id, proxy_checks.at, proxy_checks.ok, proxy_checks.result FROM proxy_checks
JOIN proxies ON proxies.id = proxy_checks.proxy_id
WHERE proxy_checks.proxy_id = $1
  AND ($2::text IS NULL OR proxies.workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))))
ORDER BY proxy_checks.seq DESC
LIMIT $4::bigint OFFSET $3;

-- name: CountProxyChecks :one
SELECT count(*) FROM proxy_checks
JOIN proxies ON proxies.id = proxy_checks.proxy_id
WHERE proxy_checks.proxy_id = $1
  AND ($2::text IS NULL OR proxies.workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: DeleteProxyChecks :execrows
DELETE FROM proxy_checks WHERE proxy_id = $1;
