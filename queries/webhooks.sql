-- Every query that a caller of the API reaches takes the key's workspaces: a JSON array, or NULL for all. Webhooks of the server have no
-- workspace, so that only NULL finds them. Deliveries are of a webhook that was read so.

-- name: InsertWebhook :one
INSERT INTO webhooks (id, workspace_id, url, secret, events, enabled, created_at, updated_at)
VALUES (@id, @workspace_id, @url, @secret, @events, @enabled, @created_at, @updated_at)
RETURNING *;

-- name: GetWebhook :one
SELECT * FROM webhooks
WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ListWebhooks :many
-- ListWebhooks returns webhooks newest first, behind a position: of one workspace, of the server if it is '*', or all if it is ''.
SELECT * FROM webhooks
WHERE (created_at, id) < (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(@in_workspace AS TEXT) = '' OR ifnull(workspace_id, '*') = @in_workspace)
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY created_at DESC, id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: CountWebhooks :one
-- CountWebhooks counts what ListWebhooks lists.
SELECT count(*) FROM webhooks
WHERE (CAST(@in_workspace AS TEXT) = '' OR ifnull(workspace_id, '*') = @in_workspace)
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: UpdateWebhook :one
-- UpdateWebhook returns no row if the webhook is unknown, foreign, or changed since @revision. A webhook that is turned on begins anew.
UPDATE webhooks SET url = @url, secret = @secret, old_secret = sqlc.narg(old_secret), old_until = sqlc.narg(old_until), events = @events,
    enabled = @enabled, off_reason = iif(@enabled, '', off_reason),
    failing_since = iif(webhooks.enabled = @enabled, failing_since, NULL), failed_at = iif(webhooks.enabled = @enabled, failed_at, NULL),
    updated_at = @updated_at, revision = revision + 1
WHERE id = @id AND revision = @revision
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
RETURNING *;

-- name: DeleteWebhook :execrows
DELETE FROM webhooks
WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ListAllWebhooks :many
SELECT * FROM webhooks;

-- name: WebhooksState :one
-- WebhooksState returns what is another after each change of a webhook that a sender goes by: their number, their revisions and the newest.
SELECT count(*) AS number, CAST(coalesce(sum(revision), 0) AS INTEGER) AS revisions, CAST(coalesce(max(id), '') AS TEXT) AS newest
FROM webhooks;

-- name: ListWebhooksDue :many
-- ListWebhooksDue returns the webhooks that have deliveries which are due at a time.
SELECT id FROM webhooks WHERE EXISTS (
    SELECT 1 FROM webhook_deliveries AS due
    WHERE due.webhook_id = webhooks.id AND due.state = 'pending' AND due.next_at <= CAST(@now AS INTEGER));

-- name: SetWebhookFailing :execrows
-- SetWebhookFailing notes that a webhook failed at a time, since another; NULL for both: it succeeded.
UPDATE webhooks SET failing_since = sqlc.narg(failing_since), failed_at = sqlc.narg(failed_at) WHERE id = @id AND enabled = 1;

-- name: TurnWebhookOff :execrows
-- TurnWebhookOff turns a webhook off if its settings have not changed since @revision.
UPDATE webhooks SET enabled = 0, off_reason = @off_reason, updated_at = @updated_at, revision = revision + 1
WHERE id = @id AND enabled = 1 AND revision = @revision;

-- name: CountDropped :execrows
UPDATE webhooks SET dropped = dropped + CAST(@more AS INTEGER), dropped_at = @dropped_at WHERE id = @id;

-- name: InsertDeliveries :exec
-- InsertDeliveries enqueues a JSON array of [webhook, id, event, type, body], from Queries.AddDeliveries. Webhooks that are gone get none.
-- What is there already stays: the answer to its COMMIT was lost.
INSERT INTO webhook_deliveries (webhook_id, id, event_id, type, body, next_at, planned_at, created_at)
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'), json_extract(value, '$[3]'),
    json_extract(value, '$[4]'), CAST(@now AS INTEGER), CAST(@now AS INTEGER), CAST(@now AS INTEGER)
FROM json_each(CAST(@deliveries AS TEXT))
WHERE EXISTS (SELECT 1 FROM webhooks WHERE webhooks.id = json_extract(value, '$[0]'))
ON CONFLICT (webhook_id, id) DO NOTHING;

-- name: ListDeliveriesDue :many
-- ListDeliveriesDue returns the deliveries of a webhook that are due at a time, the longest due first.
SELECT * FROM webhook_deliveries
WHERE webhook_id = @webhook_id AND state = 'pending' AND next_at <= CAST(@now AS INTEGER)
ORDER BY next_at, id LIMIT CAST(@limit AS INTEGER);

-- name: NextDelivery :many
-- NextDelivery returns when the next delivery of a webhook after a time is due, and when that was planned, if there is one.
SELECT next_at, planned_at FROM webhook_deliveries
WHERE webhook_id = @webhook_id AND state = 'pending' AND next_at > CAST(@now AS INTEGER)
ORDER BY next_at, id LIMIT 1;

-- name: ReplanDeliveries :execrows
-- ReplanDeliveries keeps the pauses of the deliveries that were planned after @slack, since the clock was set back.
UPDATE webhook_deliveries SET next_at = CAST(@now AS INTEGER) + max(0, next_at - planned_at), planned_at = CAST(@now AS INTEGER)
WHERE webhook_id = @webhook_id AND state = 'pending' AND planned_at > CAST(@slack AS INTEGER);

-- name: RecordDelivery :execrows
-- RecordDelivery notes what an attempt came to, if the delivery is still there.
UPDATE webhook_deliveries SET state = @state, attempts = @attempts, tries = @tries, next_at = @next_at, planned_at = @planned_at
WHERE webhook_id = @webhook_id AND id = @id;

-- name: FailPending :execrows
-- FailPending ends the pending deliveries of a webhook that was turned off.
UPDATE webhook_deliveries SET state = 'failed' WHERE webhook_id = @webhook_id AND state = 'pending';

-- name: InsertTestDelivery :exec
-- InsertTestDelivery keeps a test, which was tried once before.
INSERT INTO webhook_deliveries (webhook_id, id, event_id, type, body, state, attempts, tries, next_at, planned_at, created_at)
VALUES (@webhook_id, @id, @event_id, @type, @body, @state, 1, @tries, @created_at, @created_at, @created_at);

-- name: GetDelivery :one
SELECT * FROM webhook_deliveries WHERE webhook_id = @webhook_id AND id = @id;

-- name: ListDeliveries :many
-- ListDeliveries returns the deliveries of a webhook, newest first, behind an id: those in a state, or all if it is ''.
SELECT * FROM webhook_deliveries
WHERE webhook_id = @webhook_id AND id < CAST(@after_id AS TEXT) AND (CAST(@in_state AS TEXT) = '' OR state = @in_state)
ORDER BY id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: CountDeliveries :one
-- CountDeliveries counts what ListDeliveries lists.
SELECT count(*) FROM webhook_deliveries
WHERE webhook_id = @webhook_id AND (CAST(@in_state AS TEXT) = '' OR state = @in_state);

-- name: ReplayDelivery :one
-- ReplayDelivery enqueues a delivery again.
UPDATE webhook_deliveries SET state = 'pending', attempts = 0, next_at = CAST(@now AS INTEGER), planned_at = CAST(@now AS INTEGER)
WHERE webhook_id = @webhook_id AND id = @id
RETURNING *;

-- name: CountPending :one
SELECT count(*) FROM webhook_deliveries WHERE webhook_id = @webhook_id AND state = 'pending';

-- name: ListOldestPending :many
SELECT id FROM webhook_deliveries WHERE webhook_id = @webhook_id AND state = 'pending' ORDER BY id LIMIT CAST(@limit AS INTEGER);

-- name: ListOldestFinished :many
-- ListOldestFinished returns finished deliveries that are older than the newest @keep, or were enqueued before a time.
SELECT old.id FROM webhook_deliveries AS old
WHERE old.webhook_id = @webhook_id AND old.state <> 'pending' AND (old.created_at < CAST(@before AS INTEGER) OR old.id <= coalesce((
    SELECT newer.id FROM webhook_deliveries AS newer WHERE newer.webhook_id = @webhook_id
    ORDER BY newer.id DESC LIMIT 1 OFFSET CAST(@keep AS INTEGER)), ''))
ORDER BY old.id LIMIT CAST(@limit AS INTEGER);

-- name: DeleteDeliveries :execrows
-- DeleteDeliveries deletes those of a JSON array of ids that are in a state, or are finished if it is ''.
DELETE FROM webhook_deliveries
WHERE webhook_id = @webhook_id AND id IN (SELECT value FROM json_each(CAST(@ids AS TEXT)))
  AND (state = CAST(@in_state AS TEXT) OR @in_state = '' AND state <> 'pending');
