-- name: GetSetting :one
SELECT value FROM settings WHERE name = @name;

-- name: SetSetting :exec
INSERT INTO settings (name, value) VALUES (@name, @value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: DeleteSetting :execrows
DELETE FROM settings WHERE name = @name;
