-- The log of changes and of secrets. A key that may see only some workspaces sees only what was done in these. The lists are found in
-- store/list_audit.go.

-- name: AppendAudit :exec
-- AppendAudit is called by the writer alone, which makes the chain.
INSERT INTO audit (seq, id, at, key_id, key_name, parent, workspace_id, action, object_id, result, remote, request_id, detail, hash)
VALUES (@seq, @id, @at, @key_id, @key_name, @parent, @workspace_id, @action, @object_id, @result, @remote, @request_id, @detail, @hash);

-- name: GetAudit :one
SELECT * FROM audit
WHERE id = @id
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

-- name: GetAuditChain :one
SELECT anchor_seq, anchor_hash, last_seq, last_hash, seal FROM audit_chain WHERE id = 1;

-- name: SetAuditChain :execrows
UPDATE audit_chain SET anchor_seq = @anchor_seq, anchor_hash = @anchor_hash, last_seq = @last_seq, last_hash = @last_hash, seal = @seal
WHERE id = 1;
