-- +goose Up
-- What must happen once where several servers share a database. schema.sql gives the reasons.

ALTER TABLE idempotency ADD COLUMN node_id TEXT NOT NULL DEFAULT '';

ALTER TABLE schedules ADD COLUMN node_id TEXT NOT NULL DEFAULT '';

CREATE TABLE duties (
    name   TEXT    NOT NULL PRIMARY KEY,
    holder TEXT    NOT NULL,
    until  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tickets (
    hash  BLOB    NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    key   TEXT    NOT NULL,
    path  TEXT    NOT NULL,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX tickets_of_key ON tickets (key);
CREATE INDEX tickets_until ON tickets (until);
