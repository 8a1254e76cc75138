-- +goose Up
-- schema.sql gives the reasons.

PRAGMA application_id = 0x5772726e;

CREATE TABLE workspaces (
    id            TEXT    NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64),
    name          TEXT    NOT NULL DEFAULT '',
    profile_count INTEGER NOT NULL DEFAULT 0 CHECK (profile_count >= 0),
    trashed_count INTEGER NOT NULL DEFAULT 0 CHECK (trashed_count >= 0),
    proxy_count   INTEGER NOT NULL DEFAULT 0 CHECK (proxy_count >= 0),
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL
) STRICT;

CREATE INDEX workspaces_created ON workspaces (created_at, id);

CREATE TABLE keys (
    id           TEXT    NOT NULL PRIMARY KEY,
    name         TEXT    NOT NULL,
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    hint         TEXT    NOT NULL,
    scopes       TEXT    NOT NULL CHECK (json_valid(scopes) AND json_type(scopes) = 'array'),
    workspaces   TEXT    CHECK (workspaces IS NULL OR (json_valid(workspaces) AND json_type(workspaces) = 'array')),
    expires_at   INTEGER,
    last_used_at INTEGER,
    created_at   INTEGER NOT NULL,
    revoked_at   INTEGER
) STRICT;

CREATE INDEX keys_created ON keys (created_at, id);

CREATE TABLE proxies (
    id            TEXT    NOT NULL PRIMARY KEY,
    workspace_id  TEXT    NOT NULL REFERENCES workspaces (id),
    type          TEXT    NOT NULL CHECK (type IN ('socks5', 'http', 'https', 'socks4')),
    host          TEXT    NOT NULL CHECK (length(host) BETWEEN 1 AND 255),
    port          INTEGER NOT NULL CHECK (port BETWEEN 1 AND 65535),
    username      TEXT    NOT NULL DEFAULT '',
    password      BLOB,
    name          TEXT    NOT NULL DEFAULT '',
    tags          TEXT    NOT NULL DEFAULT '[]' CHECK (json_valid(tags) AND json_type(tags) = 'array'),
    notes         TEXT    NOT NULL DEFAULT '',
    rotate_url    TEXT    NOT NULL DEFAULT '',
    status        TEXT    NOT NULL DEFAULT 'unknown' CHECK (status IN ('unknown', 'alive', 'dead')),
    last_check    TEXT    CHECK (last_check IS NULL OR json_valid(last_check)),
    profile_count INTEGER NOT NULL DEFAULT 0 CHECK (profile_count >= 0),
    checks_total  INTEGER NOT NULL DEFAULT 0 CHECK (checks_total BETWEEN 0 AND 100),
    checks_ok     INTEGER NOT NULL DEFAULT 0 CHECK (checks_ok BETWEEN 0 AND checks_total),
    revision      INTEGER NOT NULL DEFAULT 1,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    UNIQUE (workspace_id, type, host, port, username),
    UNIQUE (workspace_id, id)
) STRICT;

CREATE INDEX proxies_of_workspace ON proxies (workspace_id, created_at, id);
CREATE INDEX proxies_created ON proxies (created_at, id);

CREATE TABLE proxy_checks (
    seq      INTEGER NOT NULL PRIMARY KEY,
    proxy_id TEXT    NOT NULL REFERENCES proxies (id) ON DELETE CASCADE,
    at       INTEGER NOT NULL,
    ok       INTEGER NOT NULL CHECK (ok IN (0, 1)),
    result   TEXT    NOT NULL CHECK (json_valid(result))
) STRICT;

CREATE INDEX proxy_checks_of_proxy ON proxy_checks (proxy_id, seq);

CREATE TABLE profiles (
    id              TEXT    NOT NULL PRIMARY KEY,
    version         INTEGER NOT NULL DEFAULT 0,
    workspace_id    TEXT    NOT NULL REFERENCES workspaces (id),
    name            TEXT    NOT NULL COLLATE NOCASE CHECK (length(name) BETWEEN 1 AND 200),
    os              TEXT    NOT NULL CHECK (os IN ('win', 'mac', 'linux')),
    browser_version TEXT    NOT NULL,
    tags            TEXT    NOT NULL DEFAULT '[]' CHECK (json_valid(tags) AND json_type(tags) = 'array'),
    tags_key        TEXT    NOT NULL DEFAULT '',
    notes           TEXT    NOT NULL DEFAULT '',
    search_key      TEXT    NOT NULL CHECK (search_key <> ''),
    proxy_id        TEXT,
    proxy_missing   INTEGER NOT NULL DEFAULT 0 CHECK (proxy_missing IN (0, 1)),
    start_urls      TEXT    NOT NULL DEFAULT '[]' CHECK (json_valid(start_urls) AND json_type(start_urls) = 'array'),
    timezone        TEXT    NOT NULL DEFAULT 'auto',
    locale          TEXT    NOT NULL DEFAULT 'auto' CHECK (locale IN ('auto', 'system') OR (json_valid(locale) AND json_type(locale) = 'array')),
    geolocation     TEXT    NOT NULL DEFAULT 'auto' CHECK (geolocation IN ('auto', 'off') OR (json_valid(geolocation) AND json_type(geolocation) = 'object')),
    webrtc          TEXT    NOT NULL DEFAULT 'proxy_only' CHECK (webrtc IN ('proxy_only', 'off', 'default')),
    screen          TEXT    CHECK (screen IS NULL OR (json_valid(screen) AND json_type(screen) = 'object')),
    headless        INTEGER CHECK (headless IN (0, 1)),
    idle_timeout_ms INTEGER,
    max_run_ms      INTEGER,
    status          TEXT    NOT NULL DEFAULT 'stopped' CHECK (status IN ('stopped', 'starting', 'running', 'stopping', 'failed')),
    last_run        TEXT    CHECK (last_run IS NULL OR json_valid(last_run)),
    last_started_at INTEGER NOT NULL DEFAULT 0,
    disk_bytes      INTEGER NOT NULL DEFAULT 0,
    revision        INTEGER NOT NULL DEFAULT 1,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    trashed_at      INTEGER,
    trashed         INTEGER NOT NULL GENERATED ALWAYS AS (trashed_at IS NOT NULL) VIRTUAL,
    CHECK ((tags = '[]') = (tags_key = '')),
    CHECK (proxy_id IS NULL OR proxy_missing = 0),
    FOREIGN KEY (workspace_id, proxy_id) REFERENCES proxies (workspace_id, id)
) STRICT;

CREATE INDEX profiles_of_workspace_created ON profiles (workspace_id, trashed, created_at, id);
CREATE INDEX profiles_of_workspace_updated ON profiles (workspace_id, trashed, updated_at, id);
CREATE INDEX profiles_of_workspace_name ON profiles (workspace_id, trashed, name, id);
CREATE INDEX profiles_of_workspace_started ON profiles (workspace_id, trashed, last_started_at, id);
CREATE INDEX profiles_created ON profiles (trashed, created_at, id);
CREATE INDEX profiles_updated ON profiles (trashed, updated_at, id);
CREATE INDEX profiles_name ON profiles (trashed, name, id);
CREATE INDEX profiles_started ON profiles (trashed, last_started_at, id);

CREATE INDEX profiles_of_proxy ON profiles (proxy_id, id) WHERE proxy_id IS NOT NULL;

CREATE INDEX profiles_not_stopped ON profiles (status, id) WHERE status <> 'stopped';

CREATE INDEX profiles_trashed ON profiles (trashed_at, id) WHERE trashed_at IS NOT NULL;

CREATE TABLE runs (
    id           TEXT    NOT NULL PRIMARY KEY,
    profile_id   TEXT    NOT NULL REFERENCES profiles (id) ON DELETE CASCADE,
    workspace_id TEXT    NOT NULL,
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER,
    outcome      TEXT    NOT NULL DEFAULT '',
    record       TEXT    NOT NULL CHECK (json_valid(record))
) STRICT;

CREATE INDEX runs_of_profile ON runs (profile_id, started_at, id);

CREATE INDEX runs_open ON runs (started_at, id) WHERE ended_at IS NULL;

CREATE TABLE idempotency (
    key_id     TEXT    NOT NULL,
    idem_key   TEXT    NOT NULL,
    target     TEXT    NOT NULL,
    body_hash  BLOB    NOT NULL,
    object     TEXT    NOT NULL DEFAULT '',      -- what the request made: told to who asks again after a crash before the answer
    status     INTEGER NOT NULL DEFAULT 0,
    headers    TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(headers)),
    answer     BLOB,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (key_id, idem_key, target)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_created ON idempotency (created_at);

CREATE TABLE settings (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- +goose StatementBegin
CREATE TRIGGER profiles_inserted AFTER INSERT ON profiles
BEGIN
    UPDATE workspaces
    SET profile_count = profile_count + (new.trashed_at IS NULL),
        trashed_count = trashed_count + (new.trashed_at IS NOT NULL)
    WHERE id = new.workspace_id;
    UPDATE proxies SET profile_count = profile_count + 1
    WHERE id = new.proxy_id AND new.trashed_at IS NULL;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER profiles_deleted AFTER DELETE ON profiles
BEGIN
    UPDATE workspaces
    SET profile_count = profile_count - (old.trashed_at IS NULL),
        trashed_count = trashed_count - (old.trashed_at IS NOT NULL)
    WHERE id = old.workspace_id;
    UPDATE proxies SET profile_count = profile_count - 1
    WHERE id = old.proxy_id AND old.trashed_at IS NULL;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER profiles_trashed_or_restored AFTER UPDATE OF trashed_at ON profiles
WHEN (old.trashed_at IS NULL) <> (new.trashed_at IS NULL)
BEGIN
    UPDATE workspaces
    SET profile_count = profile_count + (new.trashed_at IS NULL) - (old.trashed_at IS NULL),
        trashed_count = trashed_count + (new.trashed_at IS NOT NULL) - (old.trashed_at IS NOT NULL)
    WHERE id = new.workspace_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER profiles_proxy_changed AFTER UPDATE OF proxy_id, trashed_at ON profiles
WHEN old.proxy_id IS NOT new.proxy_id OR (old.trashed_at IS NULL) <> (new.trashed_at IS NULL)
BEGIN
    UPDATE proxies SET profile_count = profile_count - 1
    WHERE id = old.proxy_id AND old.trashed_at IS NULL;
    UPDATE proxies SET profile_count = profile_count + 1
    WHERE id = new.proxy_id AND new.trashed_at IS NULL;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER profiles_changed AFTER UPDATE ON profiles
WHEN new.version = old.version
BEGIN
    UPDATE profiles SET version = version + 1 WHERE id = new.id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER profiles_workspace_fixed BEFORE UPDATE OF workspace_id ON profiles
WHEN old.workspace_id <> new.workspace_id
BEGIN
    SELECT RAISE(ABORT, 'workspace_id never changes');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER proxies_workspace_fixed BEFORE UPDATE OF workspace_id ON proxies
WHEN old.workspace_id <> new.workspace_id
BEGIN
    SELECT RAISE(ABORT, 'workspace_id never changes');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER proxies_inserted AFTER INSERT ON proxies
BEGIN
    UPDATE workspaces SET proxy_count = proxy_count + 1 WHERE id = new.workspace_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER proxies_deleted AFTER DELETE ON proxies
BEGIN
    UPDATE workspaces SET proxy_count = proxy_count - 1 WHERE id = old.workspace_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER proxies_leave_the_trash BEFORE DELETE ON proxies
BEGIN
    UPDATE profiles SET proxy_id = NULL, proxy_missing = 1
    WHERE proxy_id = old.id AND trashed_at IS NOT NULL;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER proxy_checks_inserted AFTER INSERT ON proxy_checks
BEGIN
    DELETE FROM proxy_checks
    WHERE proxy_id = new.proxy_id
      AND seq <= (SELECT seq FROM proxy_checks WHERE proxy_id = new.proxy_id ORDER BY seq DESC LIMIT 1 OFFSET 100);
    UPDATE proxies SET checks_total = checks_total + 1, checks_ok = checks_ok + new.ok
    WHERE id = new.proxy_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER proxy_checks_deleted AFTER DELETE ON proxy_checks
BEGIN
    UPDATE proxies SET checks_total = checks_total - 1, checks_ok = checks_ok - old.ok
    WHERE id = old.proxy_id;
END;
-- +goose StatementEnd
