-- name: InsertKey :one
INSERT INTO keys (id, name, hash, hint, scopes, workspaces, expires_at, created_at)
VALUES (@id, @name, @hash, @hint, @scopes, sqlc.narg(workspaces), sqlc.narg(expires_at), @created_at)
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

-- name: TouchKey :execrows
-- TouchKey records the last use. The time never goes back.
UPDATE keys SET last_used_at = CAST(@at AS INTEGER)
WHERE id = @id AND (last_used_at IS NULL OR last_used_at < CAST(@at AS INTEGER));

-- name: CountKeys :one
SELECT count(*) FROM keys
WHERE (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspaces IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM json_each(keys.workspaces) AS own WHERE own.value NOT IN (SELECT value FROM json_each(sqlc.narg(workspaces)))));

-- name: CountUsableKeys :one
-- CountUsableKeys counts the keys that are neither revoked nor expired.
SELECT count(*) FROM keys
WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > CAST(@now AS INTEGER));
