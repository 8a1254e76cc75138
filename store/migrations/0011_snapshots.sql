-- +goose Up
-- Snapshots of profiles' data, and temporary profiles. schema.sql gives the reasons.

ALTER TABLE workspaces ADD COLUMN pack_secret BLOB;

ALTER TABLE profiles ADD COLUMN temporary INTEGER NOT NULL DEFAULT 0 CHECK (temporary IN (0, 1));
ALTER TABLE profiles ADD COLUMN snapshots TEXT CHECK (snapshots = 'on' OR snapshots = 'off');
ALTER TABLE profiles ADD COLUMN head_id TEXT;
ALTER TABLE profiles ADD COLUMN snapshot_due INTEGER NOT NULL DEFAULT 0 CHECK (snapshot_due IN (0, 1));

CREATE INDEX profiles_snapshot_due ON profiles (id) WHERE snapshot_due = 1;
CREATE INDEX profiles_temporary ON profiles (status, id) WHERE temporary = 1;

CREATE TABLE snapshots (
    id           TEXT    NOT NULL PRIMARY KEY,
    profile_id   TEXT    NOT NULL REFERENCES profiles (id) ON DELETE CASCADE,
    workspace_id TEXT    NOT NULL,
    parent       TEXT,
    reason       TEXT    NOT NULL CHECK (reason IN ('stop', 'asked', 'live', 'before_rollback', 'before_downgrade', 'clone', 'import')),
    name         TEXT    NOT NULL DEFAULT '',
    pinned       INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
    browser      TEXT    NOT NULL DEFAULT '',
    bytes        INTEGER NOT NULL,
    new_bytes    INTEGER NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT;

CREATE INDEX snapshots_of_profile ON snapshots (profile_id, created_at, id);

CREATE TABLE packs (
    name         TEXT    NOT NULL PRIMARY KEY,
    workspace_id TEXT    NOT NULL,
    bytes        INTEGER NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('pending', 'there', 'going')),
    seen_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX packs_seen ON packs (seen_at);

CREATE TABLE snapshot_packs (
    snapshot_id TEXT NOT NULL REFERENCES snapshots (id) ON DELETE CASCADE,
    pack        TEXT NOT NULL REFERENCES packs (name),
    PRIMARY KEY (snapshot_id, pack)
) STRICT, WITHOUT ROWID;

CREATE INDEX snapshot_packs_of_pack ON snapshot_packs (pack);

-- +goose StatementBegin
CREATE TRIGGER snapshot_packs_deleted AFTER DELETE ON snapshot_packs
BEGIN
    UPDATE packs SET seen_at = CAST(unixepoch('subsec') * 1000 AS INTEGER) WHERE name = old.pack;
END;
-- +goose StatementEnd
