-- name: GetSetting :one
SELECT value FROM settings WHERE name = $1;

-- name: SetSetting :exec
INSERT INTO settings (name, value) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: DeleteSetting :execrows
DELETE FROM settings WHERE name = $1;
