-- name: AppendAudit :exec
INSERT INTO audit (
    seq, id, at, key_id, key_name, parent, workspace_id, action, object_id, result, remote, request_id, detail, hash
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14);

-- name: GetAudit :one
SELECT seq, id, at, key_id, key_name, parent, workspace_id, action, kind, object_id, result, remote, request_id, detail, hash
FROM audit
WHERE seq = $1 AND id = $2
  AND ($3::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($3::text::json))));

-- name: GetOldAudit :one
SELECT seq, id, at, key_id, key_name, parent, workspace_id, action, kind, object_id, result, remote, request_id, detail, hash
FROM audit
WHERE id = $1 AND substr(id, 15, 1) <> '8'
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: GetAudits :many
SELECT seq, id, at, key_id, key_name, parent, workspace_id, action, kind, object_id, result, remote, request_id, detail, hash
FROM audit
WHERE seq = ANY (ARRAY(SELECT json_array_elements_text($1::text::json)::bigint))
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: WalkAudit :many
SELECT seq, id, at, key_id, key_name, parent, workspace_id, action, kind, object_id, result, remote, request_id, detail, hash
FROM audit WHERE seq > $1 ORDER BY seq LIMIT $2::bigint;

-- name: LastAudit :one
SELECT CAST(coalesce(max(seq), 0) AS BIGINT) FROM audit;

-- name: SetAuditHash :execrows
UPDATE audit SET hash = $1 WHERE seq = $2;

-- name: RemoveAudit :execrows
DELETE FROM audit WHERE seq <= $1;

-- name: IndexAudit :execrows
INSERT INTO audit_index (seq, at, key_id, workspace_id, action, object_id, result)
SELECT seq, at, key_id, workspace_id, action, object_id, result FROM audit
WHERE seq > (SELECT coalesce(max(i.seq), 0) FROM audit_index i)
ORDER BY seq LIMIT $1::bigint;

-- name: RemoveAuditIndex :execrows
DELETE FROM audit_index WHERE seq <= $1;

-- name: CheckAuditIndex :one
SELECT CAST(coalesce(min(seq), 0) AS BIGINT) FROM (
    SELECT a.seq AS seq FROM audit a LEFT JOIN audit_index i ON i.seq = a.seq
    WHERE a.seq <= (SELECT max(m.seq) FROM audit_index m)
      AND (i.seq IS NULL OR (i.at, i.key_id, i.workspace_id, i.action, i.object_id, i.result)
        <> (a.at, a.key_id, a.workspace_id, a.action, a.object_id, a.result))
    UNION ALL
    SELECT i.seq FROM audit_index i LEFT JOIN audit a ON a.seq = i.seq WHERE a.seq IS NULL
) AS faults;

-- name: GetAuditChain :one
SELECT anchor_seq, anchor_hash, last_seq, last_hash, seal FROM audit_chain WHERE id = 1;

-- name: SetAuditChain :execrows
UPDATE audit_chain SET anchor_seq = $1, anchor_hash = $2, last_seq = $3, last_hash = $4, seal = $5
WHERE id = 1;
