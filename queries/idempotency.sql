-- name: BeginIdempotency :execrows
-- BeginIdempotency claims a key: one row if it was free, none if GetIdempotency has the first request's.
INSERT INTO idempotency (key_id, idem_key, target, body_hash, created_at, node_id)
VALUES (@key_id, @idem_key, @target, @body_hash, @created_at, @node_id)
ON CONFLICT (key_id, idem_key, target) DO NOTHING;

-- name: GetIdempotency :one
SELECT * FROM idempotency WHERE key_id = @key_id AND idem_key = @idem_key AND target = @target;

-- name: FinishIdempotency :execrows
-- FinishIdempotency stores the answer of a request of a server. It affects no row of another server.
UPDATE idempotency SET status = @status, headers = @headers, answer = @answer
WHERE key_id = @key_id AND idem_key = @idem_key AND target = @target AND status = 0 AND node_id = @node_id;

-- name: TrimIdempotency :execrows
-- TrimIdempotency deletes the oldest answers of an API key beyond @keep. Requests in progress stay.
DELETE FROM idempotency WHERE idempotency.key_id = @key_id AND (status <> 0 OR object <> '') AND idempotency.created_at <= (
    SELECT old.created_at FROM idempotency AS old WHERE old.key_id = @key_id ORDER BY old.created_at DESC LIMIT 1 OFFSET CAST(@keep AS INTEGER));

-- name: DeleteIdempotency :execrows
-- DeleteIdempotency frees the key of a request of a server that failed. It affects no row of another server.
DELETE FROM idempotency WHERE key_id = @key_id AND idem_key = @idem_key AND target = @target AND object = '' AND node_id = @node_id;

-- name: ForgetIdempotency :execrows
-- ForgetIdempotency removes the row of a request that was not begun, since it was not known whether the row was there.
DELETE FROM idempotency
WHERE key_id = @key_id AND idem_key = @idem_key AND target = @target AND status = 0 AND object = '' AND node_id = @node_id
  AND created_at = @created_at;

-- name: LeaveIdempotency :execrows
-- LeaveIdempotency ends a request of a server that has created an object and has no answer to store. Any server may read the object then.
UPDATE idempotency SET node_id = ''
WHERE key_id = @key_id AND idem_key = @idem_key AND target = @target AND status = 0 AND object <> '' AND node_id = @node_id;

-- name: NoteIdempotency :execrows
-- NoteIdempotency records the object that a request in progress creates, in the transaction that creates it.
UPDATE idempotency SET object = @object
WHERE key_id = @key_id AND idem_key = @idem_key AND target = @target AND status = 0;

-- name: DeleteUnfinishedIdempotency :execrows
-- DeleteUnfinishedIdempotency frees, at boot, the keys of a server's requests that a crash interrupted before they had an effect.
DELETE FROM idempotency WHERE status = 0 AND object = '' AND node_id IN (CAST(@node_id AS TEXT), '');

-- name: PurgeIdempotency :execrows
-- PurgeIdempotency deletes answers older than 24 hours.
DELETE FROM idempotency WHERE created_at < CAST(@before AS INTEGER);

-- name: ListIdempotencyOfOldForm :many
-- ListIdempotencyOfOldForm returns answers whose target is not hashed yet.
SELECT key_id, idem_key, target, answer FROM idempotency WHERE target LIKE 'POST /%' LIMIT CAST(@limit AS INTEGER);

-- name: RefitIdempotency :execrows
UPDATE idempotency SET target = @hashed, answer = sqlc.narg(answer) WHERE key_id = @key_id AND idem_key = @idem_key AND target = @target;
