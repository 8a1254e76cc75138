-- +goose Up
-- Webhooks of the server have no workspace. schema.sql gives the reasons.
--
-- A column cannot become nullable, so both tables are made anew: the first cannot be dropped while the second refers to it. Their
-- triggers are dropped meanwhile: a rename reads them, and what is moved is not deleted.

DROP TRIGGER webhooks_workspace_fixed;
DROP TRIGGER webhooks_remembered;
DROP INDEX webhooks_created;
DROP INDEX webhooks_of_workspace;
DROP INDEX webhook_deliveries_due;
ALTER TABLE webhook_deliveries RENAME TO webhook_deliveries_before;
ALTER TABLE webhooks RENAME TO webhooks_before;

CREATE TABLE webhooks (
    id            TEXT    NOT NULL PRIMARY KEY,
    workspace_id  TEXT    REFERENCES workspaces (id),
    url           BLOB    NOT NULL,
    secret        BLOB    NOT NULL,
    old_secret    BLOB,
    old_until     INTEGER,
    events        TEXT    NOT NULL CHECK (json_valid(events) AND json_type(events) = 'array'),
    enabled       INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    off_reason    TEXT    NOT NULL DEFAULT '' CHECK (off_reason = '' OR off_reason = 'gone' OR off_reason = 'failing'),
    failing_since INTEGER,
    failed_at     INTEGER,
    dropped       INTEGER NOT NULL DEFAULT 0,
    dropped_at    INTEGER,
    revision      INTEGER NOT NULL DEFAULT 1,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    CHECK ((old_secret IS NULL) = (old_until IS NULL))
) STRICT;

INSERT INTO webhooks SELECT * FROM webhooks_before;

CREATE INDEX webhooks_created ON webhooks (created_at, id);

CREATE INDEX webhooks_of_workspace ON webhooks (workspace_id, id);

CREATE TABLE webhook_deliveries (
    webhook_id TEXT    NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    id         TEXT    NOT NULL,
    event_id   TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    body       TEXT    NOT NULL,
    state      TEXT    NOT NULL DEFAULT 'pending' CHECK (state = 'pending' OR state = 'delivered' OR state = 'failed'),
    attempts   INTEGER NOT NULL DEFAULT 0,
    tries      TEXT    NOT NULL DEFAULT '[]' CHECK (tries = '[]' OR json_valid(tries) AND json_type(tries) = 'array'),
    next_at    INTEGER NOT NULL,
    planned_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (webhook_id, id)
) STRICT, WITHOUT ROWID;

INSERT INTO webhook_deliveries SELECT * FROM webhook_deliveries_before;

DROP TABLE webhook_deliveries_before;
DROP TABLE webhooks_before;

CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, next_at, id) WHERE state = 'pending';

-- +goose StatementBegin
CREATE TRIGGER webhooks_workspace_fixed BEFORE UPDATE OF workspace_id ON webhooks
WHEN old.workspace_id IS NOT new.workspace_id
BEGIN
    SELECT RAISE(ABORT, 'workspace_id never changes');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER webhooks_remembered AFTER DELETE ON webhooks
BEGIN
    INSERT OR REPLACE INTO deleted (id, kind, workspace_id, at) VALUES (old.id, 'webhook', ifnull(old.workspace_id, ''), CAST(unixepoch('subsec') * 1000 AS INTEGER));
END;
-- +goose StatementEnd
