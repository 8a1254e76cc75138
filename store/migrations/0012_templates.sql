-- +goose Up
-- Templates of profiles, defaults of workspaces, and switches of a profile's browser. schema.sql gives the reasons.

ALTER TABLE workspaces ADD COLUMN defaults TEXT NOT NULL DEFAULT '{}' CHECK (defaults = '{}' OR json_valid(defaults) AND json_type(defaults) = 'object');
ALTER TABLE workspaces ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;

ALTER TABLE profiles ADD COLUMN template_id TEXT;
ALTER TABLE profiles ADD COLUMN args TEXT NOT NULL DEFAULT '[]' CHECK (args = '[]' OR json_valid(args) AND json_type(args) = 'array');
ALTER TABLE profiles ADD COLUMN sources TEXT NOT NULL DEFAULT '' CHECK (sources = '' OR json_valid(sources));

CREATE TABLE templates (
    id           TEXT    NOT NULL PRIMARY KEY,
    workspace_id TEXT    NOT NULL REFERENCES workspaces (id),
    name         TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    search_key   TEXT    NOT NULL,
    settings     TEXT    NOT NULL CHECK (json_valid(settings) AND json_type(settings) = 'object'),
    revision     INTEGER NOT NULL DEFAULT 1,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    UNIQUE (workspace_id, name)
) STRICT;

CREATE INDEX templates_created ON templates (created_at, id);

-- +goose StatementBegin
CREATE TRIGGER templates_workspace_fixed BEFORE UPDATE OF workspace_id ON templates
WHEN old.workspace_id <> new.workspace_id
BEGIN
    SELECT RAISE(ABORT, 'workspace_id never changes');
END;
-- +goose StatementEnd

-- The table of deleted ids takes every kind of object now. SQLite changes no CHECK, so that the table is made anew. Its
-- triggers are dropped meanwhile: a rename reads them.

DROP TRIGGER profiles_remembered;
DROP TRIGGER proxies_remembered;
DROP TRIGGER runs_remembered;
DROP TRIGGER keys_remembered;

CREATE TABLE deleted_anew (
    id           TEXT    NOT NULL,
    kind         TEXT    NOT NULL CHECK (kind <> ''),
    workspace_id TEXT    NOT NULL,
    at           INTEGER NOT NULL,
    PRIMARY KEY (id, kind)
) STRICT, WITHOUT ROWID;

INSERT INTO deleted_anew (id, kind, workspace_id, at) SELECT id, kind, workspace_id, at FROM deleted;
DROP TABLE deleted;
ALTER TABLE deleted_anew RENAME TO deleted;
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

-- +goose StatementBegin
CREATE TRIGGER keys_remembered AFTER DELETE ON keys
BEGIN
    INSERT OR REPLACE INTO deleted (id, kind, workspace_id, at) VALUES (old.id, 'key', coalesce(json_extract(old.workspaces, '$[0]'), ''), CAST(unixepoch('subsec') * 1000 AS INTEGER));
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER templates_remembered AFTER DELETE ON templates
BEGIN
    INSERT OR REPLACE INTO deleted (id, kind, workspace_id, at) VALUES (old.id, 'template', old.workspace_id, CAST(unixepoch('subsec') * 1000 AS INTEGER));
END;
-- +goose StatementEnd
