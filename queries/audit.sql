-- The log of changes and of secrets. A key that may see only some workspaces sees only what was done in these. The lists are found in
-- store/list_audit.go.

-- name: AppendAudit :exec
-- AppendAudit is called by the writer alone, which makes the chain.
INSERT INTO audit (seq, id, at, key_id, key_name, parent, workspace_id, action, object_id, result, remote, request_id, detail, hash)
VALUES (@seq, @id, @at, @key_id, @key_name, @parent, @workspace_id, @action, @object_id, @result, @remote, @request_id, @detail, @hash);

-- name: GetAudit :one
-- GetAudit returns an entry by its number and its id.
SELECT * FROM audit
WHERE seq = @seq AND id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: GetOldAudit :one
-- GetOldAudit returns an entry of an older version, whose id does not tell its number.
SELECT * FROM audit
WHERE id = @id AND substr(id, 15, 1) <> '8'
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: GetAudits :many
-- GetAudits returns the entries of a JSON array of numbers, unsorted.
SELECT * FROM audit
WHERE seq IN (SELECT value FROM json_each(CAST(@numbers AS TEXT)))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: WalkAudit :many
-- WalkAudit returns entries behind a number, oldest first: for the check, the removal by age, and the upgrade.
SELECT * FROM audit WHERE seq > @after ORDER BY seq LIMIT CAST(@limit AS INTEGER);

-- name: LastAudit :one
-- LastAudit returns the highest number; 0 if there is none.
SELECT CAST(coalesce(max(seq), 0) AS INTEGER) FROM audit;

-- name: SetAuditHash :execrows
-- SetAuditHash is for entries of before there was a chain.
UPDATE audit SET hash = @hash WHERE seq = @seq;

-- name: RemoveAudit :execrows
-- RemoveAudit removes the entries up to a number. The anchor of the chain must be there already.
DELETE FROM audit WHERE seq <= @last;

-- name: IndexAudit :execrows
-- IndexAudit takes the next entries into the index.
INSERT INTO audit_index (seq, at, key_id, workspace_id, action, object_id, result)
SELECT seq, at, key_id, workspace_id, action, object_id, result FROM audit
WHERE seq > (SELECT coalesce(max(i.seq), 0) FROM audit_index i)
ORDER BY seq LIMIT CAST(@limit AS INTEGER);

-- name: RemoveAuditIndex :execrows
DELETE FROM audit_index WHERE seq <= @last;

-- name: CheckAuditIndex :one
-- CheckAuditIndex returns the lowest number at which the index is not that of the log; 0: there is none.
SELECT CAST(coalesce(min(seq), 0) AS INTEGER) FROM (
    SELECT a.seq AS seq FROM audit a LEFT JOIN audit_index i ON i.seq = a.seq
    WHERE a.seq <= (SELECT max(m.seq) FROM audit_index m)
      AND (i.seq IS NULL OR (i.at, i.key_id, i.workspace_id, i.action, i.object_id, i.result)
        <> (a.at, a.key_id, a.workspace_id, a.action, a.object_id, a.result))
    UNION ALL
    SELECT i.seq FROM audit_index i LEFT JOIN audit a ON a.seq = i.seq WHERE a.seq IS NULL
);

-- name: GetAuditChain :one
SELECT anchor_seq, anchor_hash, last_seq, last_hash, seal FROM audit_chain WHERE id = 1;

-- name: SetAuditChain :execrows
UPDATE audit_chain SET anchor_seq = @anchor_seq, anchor_hash = @anchor_hash, last_seq = @last_seq, last_hash = @last_hash, seal = @seal
WHERE id = 1;
