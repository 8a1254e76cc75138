-- name: InsertWebhook :one
INSERT INTO webhooks (id, workspace_id, url, secret, events, enabled, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
RETURNING id, workspace_id, url, secret, old_secret, old_until, events, enabled, off_reason, failing_since, failed_at, dropped,
    dropped_at, revision, created_at, updated_at;

-- name: GetWebhook :one
SELECT id, workspace_id, url, secret, old_secret, old_until, events, enabled, off_reason, failing_since, failed_at, dropped,
    dropped_at, revision, created_at, updated_at
FROM webhooks
WHERE id = $1
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: ListWebhooks :many
SELECT id, workspace_id, url, secret, old_secret, old_until, events, enabled, off_reason, failing_since, failed_at, dropped,
    dropped_at, revision, created_at, updated_at
FROM webhooks
WHERE (created_at, id) < ($1::bigint, $2::text)
  AND ($3::text = '' OR coalesce(workspace_id, '*') = $3)
  AND ($4::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($4::text::json))))
ORDER BY created_at DESC, id DESC
LIMIT $6::bigint OFFSET $5;

-- name: CountWebhooks :one
SELECT count(*) FROM webhooks
WHERE ($1::text = '' OR coalesce(workspace_id, '*') = $1)
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: UpdateWebhook :one
UPDATE webhooks SET url = $1, secret = $2, old_secret = $3, old_until = $4, events = $5,
    enabled = $6::bigint, off_reason = CASE WHEN $6::bigint <> 0 THEN '' ELSE off_reason END,
    failing_since = CASE WHEN enabled = $6::bigint THEN failing_since END,
    failed_at = CASE WHEN enabled = $6::bigint THEN failed_at END,
    updated_at = $7, revision = revision + 1
WHERE id = $8 AND revision = $9
  AND ($10::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($10::text::json))))
RETURNING id, workspace_id, url, secret, old_secret, old_until, events, enabled, off_reason, failing_since, failed_at, dropped,
    dropped_at, revision, created_at, updated_at;

-- name: DeleteWebhook :execrows
DELETE FROM webhooks
WHERE id = $1
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: ListAllWebhooks :many
SELECT id, workspace_id, url, secret, old_secret, old_until, events, enabled, off_reason, failing_since, failed_at, dropped,
    dropped_at, revision, created_at, updated_at
FROM webhooks;

-- name: WebhooksState :one
SELECT count(*) AS number, coalesce(sum(revision), 0)::bigint AS revisions, coalesce(max(id), '') AS newest FROM webhooks;

-- name: ListWebhooksDue :many
-- OFFSET 0 has each webhook looked up in the index. A join would read all that is pending.
SELECT id FROM webhooks WHERE EXISTS (
    SELECT 1 FROM webhook_deliveries AS due
    WHERE due.webhook_id = webhooks.id AND due.state = 'pending' AND due.next_at <= $1::bigint OFFSET 0);

-- name: SetWebhookFailing :execrows
UPDATE webhooks SET failing_since = $1, failed_at = $2 WHERE id = $3 AND enabled = 1;

-- name: TurnWebhookOff :execrows
UPDATE webhooks SET enabled = 0, off_reason = $1, updated_at = $2, revision = revision + 1
WHERE id = $3 AND enabled = 1 AND revision = $4;

-- name: CountDropped :execrows
UPDATE webhooks SET dropped = dropped + $1::bigint, dropped_at = $2 WHERE id = $3;

-- name: InsertDeliveries :exec
-- OFFSET 0 has each webhook looked up by its id. A join would read all of them, and conflict with every change of one.
INSERT INTO webhook_deliveries (webhook_id, id, event_id, type, body, next_at, planned_at, created_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, $1::bigint, $1::bigint, $1::bigint
FROM jsonb_array_elements($2::text::jsonb) AS made (value)
WHERE EXISTS (SELECT 1 FROM webhooks WHERE webhooks.id = value ->> 0 OFFSET 0)
ON CONFLICT (webhook_id, id) DO NOTHING;

-- name: ListDeliveriesDue :many
SELECT webhook_id, id, event_id, type, body, state, attempts, tries, next_at, planned_at, created_at FROM webhook_deliveries
WHERE webhook_id = $1 AND state = 'pending' AND next_at <= $2::bigint
ORDER BY next_at, id LIMIT $3::bigint;

-- name: NextDelivery :many
SELECT next_at, planned_at FROM webhook_deliveries
WHERE webhook_id = $1 AND state = 'pending' AND next_at > $2::bigint
ORDER BY next_at, id LIMIT 1;

-- name: ReplanDeliveries :execrows
UPDATE webhook_deliveries SET next_at = $1::bigint + greatest(0, next_at - planned_at), planned_at = $1::bigint
WHERE webhook_id = $2 AND state = 'pending' AND planned_at > $3::bigint;

-- name: RecordDelivery :execrows
UPDATE webhook_deliveries SET state = $1, attempts = $2, tries = $3, next_at = $4, planned_at = $5
WHERE webhook_id = $6 AND id = $7;

-- name: FailPending :execrows
UPDATE webhook_deliveries SET state = 'failed' WHERE webhook_id = $1 AND state = 'pending';

-- name: InsertTestDelivery :exec
INSERT INTO webhook_deliveries (webhook_id, id, event_id, type, body, state, attempts, tries, next_at, planned_at, created_at)
VALUES ($1, $2, $3, $4, $5, $6, 1, $7, $8, $8, $8);

-- name: GetDelivery :one
SELECT webhook_id, id, event_id, type, body, state, attempts, tries, next_at, planned_at, created_at
FROM webhook_deliveries WHERE webhook_id = $1 AND id = $2;

-- name: ListDeliveries :many
SELECT webhook_id, id, event_id, type, body, state, attempts, tries, next_at, planned_at, created_at FROM webhook_deliveries
WHERE webhook_id = $1 AND id < $2::text AND ($3::text = '' OR state = $3)
ORDER BY id DESC
LIMIT $5::bigint OFFSET $4;

-- name: CountDeliveries :one
SELECT count(*) FROM webhook_deliveries
WHERE webhook_id = $1 AND ($2::text = '' OR state = $2);

-- name: ReplayDelivery :one
UPDATE webhook_deliveries SET state = 'pending', attempts = 0, next_at = $1::bigint, planned_at = $1::bigint
WHERE webhook_id = $2 AND id = $3
RETURNING webhook_id, id, event_id, type, body, state, attempts, tries, next_at, planned_at, created_at;

-- name: CountPending :one
SELECT count(*) FROM webhook_deliveries WHERE webhook_id = $1 AND state = 'pending';

-- name: ListOldestPending :many
SELECT id FROM webhook_deliveries WHERE webhook_id = $1 AND state = 'pending' ORDER BY id LIMIT $2::bigint;

-- name: ListOldestFinished :many
SELECT old.id FROM webhook_deliveries AS old
WHERE old.webhook_id = $1 AND old.state <> 'pending' AND (old.created_at < $2::bigint OR old.id <= coalesce((
    SELECT newer.id FROM webhook_deliveries AS newer WHERE newer.webhook_id = $1
    ORDER BY newer.id DESC LIMIT 1 OFFSET $3::bigint), ''))
ORDER BY old.id LIMIT $4::bigint;

-- name: DeleteDeliveries :execrows
DELETE FROM webhook_deliveries
WHERE webhook_id = $1 AND id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json)))
  AND (state = $3::text OR $3 = '' AND state <> 'pending');
