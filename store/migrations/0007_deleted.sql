-- +goose Up
-- schema.sql gives the reasons.

CREATE TABLE deleted (
    id           TEXT    NOT NULL,
    kind         TEXT    NOT NULL CHECK (kind IN ('profile', 'proxy', 'run')),
    workspace_id TEXT    NOT NULL,
    at           INTEGER NOT NULL,
    PRIMARY KEY (id, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX deleted_at ON deleted (at);

-- +goose StatementBegin
CREATE TRIGGER profiles_remembered AFTER DELETE ON profiles
BEGIN
    INSERT OR REPLACE INTO deleted (id, kind, workspace_id, at) VALUES (old.id, 'profile', old.workspace_id, CAST(unixepoch('subsec') * 1000 AS INTEGER));
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER proxies_remembered AFTER DELETE ON proxies
BEGIN
    INSERT OR REPLACE INTO deleted (id, kind, workspace_id, at) VALUES (old.id, 'proxy', old.workspace_id, CAST(unixepoch('subsec') * 1000 AS INTEGER));
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER runs_remembered AFTER DELETE ON runs
BEGIN
    INSERT OR REPLACE INTO deleted (id, kind, workspace_id, at) VALUES (old.id, 'run', old.workspace_id, CAST(unixepoch('subsec') * 1000 AS INTEGER));
END;
-- +goose StatementEnd
