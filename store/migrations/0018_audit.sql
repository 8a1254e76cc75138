-- +goose Up
-- The log of audit with a chain of hashes, and quotas of workspaces. schema.sql gives the reasons.

ALTER TABLE audit RENAME TO audit_before;

CREATE TABLE audit (
    seq          INTEGER NOT NULL PRIMARY KEY, -- without gaps
    id           TEXT    NOT NULL, -- made of at and seq, but for those of older versions
    at           INTEGER NOT NULL,
    key_id       TEXT    NOT NULL,
    key_name     TEXT    NOT NULL,
    parent       TEXT    NOT NULL DEFAULT '', -- of a session key: the key that it came from
    workspace_id TEXT    NOT NULL DEFAULT '', -- '': several
    action       TEXT    NOT NULL,            -- the operation, such as proxy.secret
    kind         TEXT    NOT NULL GENERATED ALWAYS AS (substr(action, 1, instr(action, '.') - 1)) VIRTUAL, -- of objects
    object_id    TEXT    NOT NULL DEFAULT '',
    result       TEXT    NOT NULL DEFAULT 'ok', -- or the code of a refusal
    remote       TEXT    NOT NULL,            -- the caller's address
    request_id   TEXT    NOT NULL,
    detail       TEXT    NOT NULL DEFAULT '{}', -- a JSON object, which is not checked again
    hash         BLOB    NOT NULL DEFAULT x'' -- HMAC-SHA-256; empty until the upgrade that made the chain has reached the row
) STRICT;

INSERT INTO audit (id, at, key_id, key_name, workspace_id, action, object_id, remote, request_id, detail, hash)
SELECT id, at, key_id, key_name, workspace_id, action, object_id, remote, request_id, detail, x'' FROM audit_before ORDER BY at, id;

DROP TABLE audit_before;

-- Ids of older versions are found by this. Those of this version tell the number.
CREATE INDEX audit_old_ids ON audit (id) WHERE substr(id, 15, 1) <> '8';

-- What lists look for, of the entries up to the highest number here. Later ones are read in the log itself. Entries come here many at
-- a time and when the writer is idle (store/index_audit.go), since indexes of the log would take more of a change than all else of it.
CREATE TABLE audit_index (
    seq          INTEGER NOT NULL PRIMARY KEY,
    at           INTEGER NOT NULL,
    key_id       TEXT    NOT NULL,
    workspace_id TEXT    NOT NULL,
    action       TEXT    NOT NULL,
    kind         TEXT    NOT NULL GENERATED ALWAYS AS (substr(action, 1, instr(action, '.') - 1)) VIRTUAL,
    object_id    TEXT    NOT NULL,
    result       TEXT    NOT NULL
) STRICT;

-- The lists, newest first: of everything, of a key, of an object, of a kind of object, of an action, and of refusals.
CREATE INDEX audit_time ON audit_index (at);
CREATE INDEX audit_of_key ON audit_index (key_id, at);
CREATE INDEX audit_of_object ON audit_index (object_id, at) WHERE object_id <> '';
CREATE INDEX audit_of_kind ON audit_index (kind, at);
CREATE INDEX audit_of_action ON audit_index (action, at);
CREATE INDEX audit_refused ON audit_index (at) WHERE result <> 'ok';

-- Where the log begins and ends, in one row. What was removed by age ends with the anchor.
CREATE TABLE audit_chain (
    id          INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    anchor_seq  INTEGER NOT NULL, -- of the last row that was removed; 0: none
    anchor_hash BLOB    NOT NULL,
    last_seq    INTEGER NOT NULL,
    last_hash   BLOB    NOT NULL,
    seal        BLOB    NOT NULL  -- HMAC-SHA-256 over the other columns; empty until the chain is made
) STRICT;

INSERT INTO audit_chain (id, anchor_seq, anchor_hash, last_seq, last_hash, seal) VALUES (1, 0, x'', 0, x'', x'');

-- +goose StatementBegin
CREATE TRIGGER audit_fixed BEFORE UPDATE ON audit
WHEN old.hash <> x''
BEGIN
    SELECT RAISE(ABORT, 'the audit log is only appended to');
END;
-- +goose StatementEnd

-- Only rows up to the anchor are removed, and the anchor never goes back.
-- +goose StatementBegin
CREATE TRIGGER audit_kept BEFORE DELETE ON audit
WHEN old.seq > (SELECT anchor_seq FROM audit_chain)
BEGIN
    SELECT RAISE(ABORT, 'the audit log is only appended to');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER audit_chain_kept BEFORE DELETE ON audit_chain
BEGIN
    SELECT RAISE(ABORT, 'the audit log is only appended to');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER audit_chain_grows BEFORE UPDATE ON audit_chain
WHEN new.anchor_seq < old.anchor_seq OR new.last_seq < old.last_seq
BEGIN
    SELECT RAISE(ABORT, 'the audit log is only appended to');
END;
-- +goose StatementEnd

-- Hashes cannot be expressed in SQL: they are made at the next open (store/pending_steps.go).
INSERT INTO settings (name, value) VALUES ('refit', 'audit') ON CONFLICT (name) DO UPDATE SET value = value || ' audit';

ALTER TABLE workspaces ADD COLUMN quota_profiles INTEGER CHECK (quota_profiles >= 0);
ALTER TABLE workspaces ADD COLUMN quota_running INTEGER CHECK (quota_running >= 0);
ALTER TABLE workspaces ADD COLUMN quota_disk_mb INTEGER CHECK (quota_disk_mb >= 0);
ALTER TABLE workspaces ADD COLUMN quota_proxies INTEGER CHECK (quota_proxies >= 0);
ALTER TABLE workspaces ADD COLUMN data_bytes INTEGER NOT NULL DEFAULT 0;

UPDATE workspaces SET data_bytes = (SELECT coalesce(sum(disk_bytes), 0) FROM profiles WHERE workspace_id = workspaces.id)
    + (SELECT coalesce(sum(bytes), 0) FROM packs WHERE workspace_id = workspaces.id);

DROP TRIGGER profiles_inserted;
DROP TRIGGER profiles_deleted;

-- +goose StatementBegin
CREATE TRIGGER profiles_inserted AFTER INSERT ON profiles
BEGIN
    UPDATE workspaces
    SET profile_count = profile_count + (new.trashed_at IS NULL),
        trashed_count = trashed_count + (new.trashed_at IS NOT NULL),
        data_bytes = data_bytes + new.disk_bytes
    WHERE id = new.workspace_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER profiles_deleted AFTER DELETE ON profiles
BEGIN
    UPDATE workspaces
    SET profile_count = profile_count - (old.trashed_at IS NULL),
        trashed_count = trashed_count - (old.trashed_at IS NOT NULL),
        data_bytes = data_bytes - old.disk_bytes
    WHERE id = old.workspace_id;
    UPDATE proxies SET profile_count = profile_count - 1
    WHERE id = old.proxy_id AND old.trashed_at IS NULL;
END;
-- +goose StatementEnd

-- Triggers: what a workspace's data take, and its quotas. Whatever writes a row that is counted is refused above a quota.

-- +goose StatementBegin
CREATE TRIGGER profiles_measured AFTER UPDATE OF disk_bytes ON profiles
WHEN old.disk_bytes <> new.disk_bytes
BEGIN
    UPDATE workspaces SET data_bytes = data_bytes + new.disk_bytes - old.disk_bytes WHERE id = new.workspace_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER packs_inserted AFTER INSERT ON packs
BEGIN
    UPDATE workspaces SET data_bytes = data_bytes + new.bytes WHERE id = new.workspace_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER packs_deleted AFTER DELETE ON packs
BEGIN
    UPDATE workspaces SET data_bytes = data_bytes - old.bytes WHERE id = old.workspace_id;
END;
-- +goose StatementEnd

-- Packs of a workspace that was deleted stay for a while. A new one with its id has them again.
-- +goose StatementBegin
CREATE TRIGGER workspaces_inserted AFTER INSERT ON workspaces
BEGIN
    UPDATE workspaces SET data_bytes = (SELECT coalesce(sum(bytes), 0) FROM packs WHERE workspace_id = new.id) WHERE id = new.id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER workspaces_quota_profiles BEFORE UPDATE OF profile_count ON workspaces
WHEN new.profile_count > old.profile_count AND new.profile_count > old.quota_profiles
BEGIN
    SELECT RAISE(ABORT, 'quota of profiles of ' || old.id || ';');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER workspaces_quota_proxies BEFORE UPDATE OF proxy_count ON workspaces
WHEN new.proxy_count > old.proxy_count AND new.proxy_count > old.quota_proxies
BEGIN
    SELECT RAISE(ABORT, 'quota of proxies of ' || old.id || ';');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER workspaces_remembered AFTER DELETE ON workspaces
BEGIN
    INSERT OR REPLACE INTO deleted (id, kind, workspace_id, at) VALUES (old.id, 'workspace', old.id, CAST(unixepoch('subsec') * 1000 AS INTEGER));
END;
-- +goose StatementEnd
