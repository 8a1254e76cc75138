-- +goose Up
-- Schedules, and profiles that start with the server. schema.sql gives the reasons.

ALTER TABLE profiles ADD COLUMN start_with_server INTEGER NOT NULL DEFAULT 0 CHECK (start_with_server IN (0, 1));

CREATE INDEX profiles_with_server ON profiles (created_at, id) WHERE start_with_server = 1;

CREATE TABLE schedules (
    id           TEXT    NOT NULL PRIMARY KEY,
    workspace_id TEXT    NOT NULL REFERENCES workspaces (id),
    name         TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    search_key   TEXT    NOT NULL,
    enabled      INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    cron         TEXT    NOT NULL DEFAULT '',
    time_zone    TEXT    NOT NULL DEFAULT '',
    every_ms     INTEGER,
    action       TEXT    NOT NULL CHECK (action IN ('start', 'stop', 'check', 'snapshot', 'rotate')),
    profile_ids  TEXT    CHECK (profile_ids IS NULL OR json_valid(profile_ids) AND json_type(profile_ids) = 'array'),
    proxy_ids    TEXT    CHECK (proxy_ids IS NULL OR json_valid(proxy_ids) AND json_type(proxy_ids) = 'array'),
    tag          TEXT,
    start_urls   TEXT    CHECK (start_urls IS NULL OR json_valid(start_urls) AND json_type(start_urls) = 'array'),
    max_run_ms   INTEGER,
    catch_up     INTEGER NOT NULL DEFAULT 0 CHECK (catch_up IN (0, 1)),
    next_at      INTEGER,
    planned_at   INTEGER NOT NULL DEFAULT 0,
    last_run     TEXT    CHECK (last_run IS NULL OR json_valid(last_run)),
    missed       INTEGER NOT NULL DEFAULT 0,
    missed_at    INTEGER,
    skipped      INTEGER NOT NULL DEFAULT 0,
    skipped_at   INTEGER,
    revision     INTEGER NOT NULL DEFAULT 1,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    CHECK ((cron = '') = (time_zone = '') AND (cron = '') = (every_ms IS NOT NULL)),
    CHECK ((profile_ids IS NOT NULL) + (proxy_ids IS NOT NULL) + (tag IS NOT NULL) = 1)
) STRICT;

CREATE INDEX schedules_created ON schedules (created_at, id);
CREATE INDEX schedules_of_workspace ON schedules (workspace_id, id);
CREATE INDEX schedules_due ON schedules (next_at, id) WHERE next_at IS NOT NULL;
CREATE INDEX schedules_planned ON schedules (planned_at, id) WHERE next_at IS NOT NULL;

-- +goose StatementBegin
CREATE TRIGGER schedules_workspace_fixed BEFORE UPDATE OF workspace_id ON schedules
WHEN old.workspace_id <> new.workspace_id
BEGIN
    SELECT RAISE(ABORT, 'workspace_id never changes');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER schedules_remembered AFTER DELETE ON schedules
BEGIN
    INSERT OR REPLACE INTO deleted (id, kind, workspace_id, at) VALUES (old.id, 'schedule', old.workspace_id, CAST(unixepoch('subsec') * 1000 AS INTEGER));
END;
-- +goose StatementEnd
