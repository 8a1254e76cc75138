-- +goose Up
-- Session keys: the page's own. schema.sql gives the reasons.

ALTER TABLE keys ADD COLUMN parent TEXT;

CREATE INDEX keys_of_parent ON keys (parent) WHERE parent IS NOT NULL;

-- The condition gets a wider meaning, so no row has to be looked at (https://www.sqlite.org/lang_altertable.html, section 7).
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
SET sql = replace(sql, 'CHECK (kind IN (''profile'', ''proxy'', ''run''))', 'CHECK (kind IN (''profile'', ''proxy'', ''run'', ''key''))')
WHERE type = 'table' AND name = 'deleted';
PRAGMA writable_schema = RESET;

-- +goose StatementBegin
CREATE TRIGGER keys_remembered AFTER DELETE ON keys
BEGIN
    INSERT OR REPLACE INTO deleted (id, kind, workspace_id, at) VALUES (old.id, 'key', coalesce(json_extract(old.workspaces, '$[0]'), ''), CAST(unixepoch('subsec') * 1000 AS INTEGER));
END;
-- +goose StatementEnd
