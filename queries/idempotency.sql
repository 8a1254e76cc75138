-- name: BeginIdempotency :execrows
-- BeginIdempotency claims a key: one row when it was free, none when GetIdempotency has the first request's.
INSERT INTO idempotency (key_id, idem_key, target, body_hash, created_at)
VALUES (@key_id, @idem_key, @target, @body_hash, @created_at)
ON CONFLICT (key_id, idem_key, target) DO NOTHING;

-- name: GetIdempotency :one
SELECT * FROM idempotency WHERE key_id = @key_id AND idem_key = @idem_key AND target = @target;

-- name: FinishIdempotency :execrows
UPDATE idempotency SET status = @status, headers = @headers, answer = @answer
WHERE key_id = @key_id AND idem_key = @idem_key AND target = @target AND status = 0;

-- name: DeleteIdempotency :execrows
-- DeleteIdempotency frees a key whose request came to nothing.
DELETE FROM idempotency WHERE key_id = @key_id AND idem_key = @idem_key AND target = @target AND object = '';

-- name: NoteIdempotency :execrows
-- NoteIdempotency names the object that a request under way makes, in the transaction that makes it.
UPDATE idempotency SET object = @object
WHERE key_id = @key_id AND idem_key = @idem_key AND target = @target AND status = 0;

-- name: DeleteUnfinishedIdempotency :execrows
-- DeleteUnfinishedIdempotency frees, at boot, what a crash left under way and undone.
DELETE FROM idempotency WHERE status = 0 AND object = '';

-- name: PurgeIdempotency :execrows
-- PurgeIdempotency forgets what is older than 24 hours.
DELETE FROM idempotency WHERE created_at < CAST(@before AS INTEGER);
