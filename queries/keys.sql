-- name: InsertKey :one
INSERT INTO keys (id, name, hash, hint, scopes, workspaces, expires_at, created_at)
VALUES (@id, @name, @hash, @hint, @scopes, sqlc.narg(workspaces), sqlc.narg(expires_at), @created_at)
RETURNING *;

-- name: GetKeyByHash :one
-- GetKeyByHash finds revoked and expired keys too: the caller refuses them like unknown ones.
SELECT * FROM keys WHERE hash = @hash;

-- name: GetKey :one
SELECT * FROM keys WHERE id = @id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspaces IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM json_each(keys.workspaces) AS own WHERE own.value NOT IN (SELECT value FROM json_each(sqlc.narg(workspaces)))));

-- name: ListKeys :many
-- ListKeys gives keys newest first, after a place, revoked ones included. Whoever sees some workspaces only sees the keys of
-- these alone.
SELECT * FROM keys
WHERE (created_at, id) < (+CAST(@after_key AS INTEGER), +CAST(@after_id AS TEXT))
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspaces IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM json_each(keys.workspaces) AS own WHERE own.value NOT IN (SELECT value FROM json_each(sqlc.narg(workspaces)))))
ORDER BY created_at DESC, id DESC
LIMIT CAST(@limit AS INTEGER) OFFSET @offset;

-- name: RevokeKey :execrows
-- RevokeKey: no row when it is unknown, revoked already, or of other workspaces too.
UPDATE keys SET revoked_at = CAST(@revoked_at AS INTEGER) WHERE id = @id AND revoked_at IS NULL
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspaces IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM json_each(keys.workspaces) AS own WHERE own.value NOT IN (SELECT value FROM json_each(sqlc.narg(workspaces)))));

-- name: TouchKey :execrows
-- TouchKey records the last use; it never goes back.
UPDATE keys SET last_used_at = CAST(@at AS INTEGER)
WHERE id = @id AND (last_used_at IS NULL OR last_used_at < CAST(@at AS INTEGER));

-- name: CountKeys :one
SELECT count(*) FROM keys
WHERE (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspaces IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM json_each(keys.workspaces) AS own WHERE own.value NOT IN (SELECT value FROM json_each(sqlc.narg(workspaces)))));

-- name: CountUsableKeys :one
-- CountUsableKeys counts the keys that open something now.
SELECT count(*) FROM keys
WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > CAST(@now AS INTEGER));
