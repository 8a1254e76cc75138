-- name: InsertKey :one
INSERT INTO keys (id, name, hash, hint, scopes, workspaces, expires_at, created_at, parent)
VALUES (@id, @name, @hash, @hint, @scopes, sqlc.narg(workspaces), sqlc.narg(expires_at), @created_at, sqlc.narg(parent))
RETURNING *;

-- name: GetKeyByHash :one
-- GetKeyByHash also finds revoked and expired keys, which the caller rejects like unknown ones.
SELECT * FROM keys WHERE hash = @hash;

-- name: GetKey :one
SELECT * FROM keys WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspaces IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM json_each(keys.workspaces) AS own WHERE own.value NOT IN (SELECT value FROM json_each(sqlc.narg(workspaces)))));

-- name: ListKeys :many
-- ListKeys returns keys newest first, behind a position, including revoked ones. A key that may see only some workspaces
-- sees only keys of these.
SELECT * FROM keys
WHERE (created_at, id) < (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspaces IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM json_each(keys.workspaces) AS own WHERE own.value NOT IN (SELECT value FROM json_each(sqlc.narg(workspaces)))))
ORDER BY created_at DESC, id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: RevokeKey :execrows
-- RevokeKey affects no row if the key is unknown, already revoked, or also of other workspaces.
UPDATE keys SET revoked_at = CAST(@revoked_at AS INTEGER) WHERE id = @id AND revoked_at IS NULL
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspaces IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM json_each(keys.workspaces) AS own WHERE own.value NOT IN (SELECT value FROM json_each(sqlc.narg(workspaces)))));

-- name: RevokeSessionsOf :many
-- RevokeSessionsOf revokes the session keys of a key, and returns their ids.
UPDATE keys SET revoked_at = CAST(@revoked_at AS INTEGER) WHERE parent = CAST(@parent AS TEXT) AND revoked_at IS NULL
RETURNING id;

-- name: RevokeOtherEnvironments :execrows
-- RevokeOtherEnvironments revokes the session keys of a former WARREN_API_KEY: of each mark but the present one.
UPDATE keys SET revoked_at = CAST(@revoked_at AS INTEGER)
WHERE parent GLOB 'environment-*' AND parent <> CAST(@mark AS TEXT) AND revoked_at IS NULL;

-- name: TrimSessions :many
-- TrimSessions deletes the session keys of a key beyond the newest by last use, those that have ended first.
DELETE FROM keys WHERE keys.id IN (
  SELECT own.id FROM keys AS own WHERE own.parent = CAST(@parent AS TEXT)
  ORDER BY own.revoked_at IS NOT NULL, max(own.created_at, coalesce(own.last_used_at, 0)) DESC, own.id DESC
  LIMIT -1 OFFSET CAST(@keep AS INTEGER))
RETURNING id;

-- name: TouchKey :execrows
-- TouchKey records the last use. The time never goes back. A session key expires a while after it, or with its parent.
UPDATE keys SET last_used_at = CAST(@at AS INTEGER),
  expires_at = CASE WHEN keys.parent IS NULL THEN keys.expires_at ELSE min(CAST(@at AS INTEGER) + CAST(@idle AS INTEGER),
    coalesce((SELECT p.expires_at FROM keys AS p WHERE p.id = keys.parent), CAST(@at AS INTEGER) + CAST(@idle AS INTEGER))) END
WHERE keys.id = @id AND (keys.last_used_at IS NULL OR keys.last_used_at < CAST(@at AS INTEGER));

-- name: ListValidKeys :many
-- ListValidKeys returns those of a JSON array of ids whose keys exist and were not revoked.
SELECT id FROM keys WHERE id IN (SELECT value FROM json_each(CAST(@ids AS TEXT))) AND revoked_at IS NULL;

-- name: CountKeys :one
SELECT count(*) FROM keys
WHERE (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspaces IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM json_each(keys.workspaces) AS own WHERE own.value NOT IN (SELECT value FROM json_each(sqlc.narg(workspaces)))));

-- name: CountUsableKeys :one
-- CountUsableKeys counts the keys that are neither revoked nor expired, without session keys.
SELECT count(*) FROM keys
WHERE parent IS NULL AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > CAST(@now AS INTEGER));

-- name: HasOwnKeys :one
-- HasOwnKeys reports whether a key was ever made, other than session keys.
SELECT EXISTS (SELECT 1 FROM keys WHERE parent IS NULL);

-- name: InsertTicket :exec
-- InsertTicket keeps a ticket for so many milliseconds.
INSERT INTO tickets (hash, key, path, until)
VALUES (@hash, @key, @path, CAST(unixepoch('subsec') * 1000 AS INTEGER) + CAST(@span AS INTEGER));

-- name: TakeTicket :one
-- TakeTicket deletes a ticket and returns it. It returns no row if there is none, or if it is over.
DELETE FROM tickets WHERE hash = @hash AND until > CAST(unixepoch('subsec') * 1000 AS INTEGER)
RETURNING key, path;

-- name: CountTickets :one
-- CountTickets counts the tickets of a key, or the codes of its login links for an empty path.
SELECT count(*) FROM tickets WHERE key = @key AND (path = CAST(@path AS TEXT) OR path <> '' AND CAST(@path AS TEXT) <> '');

-- name: PurgeTickets :execrows
-- PurgeTickets deletes those that are over.
DELETE FROM tickets WHERE until <= CAST(unixepoch('subsec') * 1000 AS INTEGER);
