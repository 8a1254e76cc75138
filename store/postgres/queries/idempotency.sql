-- name: BeginIdempotency :execrows
INSERT INTO idempotency (key_id, idem_key, target, body_hash, created_at, node_id)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (key_id, idem_key, target) DO NOTHING;

-- name: GetIdempotency :one
SELECT key_id, idem_key, target, body_hash, object, status, headers, answer, created_at, node_id
FROM idempotency WHERE key_id = $1 AND idem_key = $2 AND target = $3;

-- name: FinishIdempotency :execrows
UPDATE idempotency SET status = $1, headers = $2, answer = $3
WHERE key_id = $4 AND idem_key = $5 AND target = $6 AND status = 0 AND node_id = $7;

-- name: TrimIdempotency :execrows
DELETE FROM idempotency WHERE idempotency.key_id = $1 AND (status <> 0 OR object <> '') AND idempotency.created_at <= (
    SELECT old.created_at FROM idempotency AS old WHERE old.key_id = $1 ORDER BY old.created_at DESC LIMIT 1 OFFSET $2::bigint);

-- name: DeleteIdempotency :execrows
DELETE FROM idempotency WHERE key_id = $1 AND idem_key = $2 AND target = $3 AND object = '' AND node_id = $4;

-- name: ForgetIdempotency :execrows
DELETE FROM idempotency
WHERE key_id = $1 AND idem_key = $2 AND target = $3 AND status = 0 AND object = '' AND node_id = $4
  AND created_at = $5;

-- name: LeaveIdempotency :execrows
UPDATE idempotency SET node_id = ''
WHERE key_id = $1 AND idem_key = $2 AND target = $3 AND status = 0 AND object <> '' AND node_id = $4;

-- name: NoteIdempotency :execrows
UPDATE idempotency SET object = $1
WHERE key_id = $2 AND idem_key = $3 AND target = $4 AND status = 0;

-- name: DeleteUnfinishedIdempotency :execrows
DELETE FROM idempotency WHERE status = 0 AND object = '' AND node_id IN ($1::text, '');

-- name: PurgeIdempotency :execrows
DELETE FROM idempotency WHERE created_at < $1::bigint;

-- name: ListIdempotencyOfOldForm :many
SELECT key_id, idem_key, target, answer FROM idempotency WHERE target LIKE 'POST /%' LIMIT $1::bigint;

-- name: RefitIdempotency :execrows
UPDATE idempotency SET target = $1, answer = $2 WHERE key_id = $3 AND idem_key = $4 AND target = $5;
