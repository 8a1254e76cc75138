-- The current schema. store/migrations/ creates it step by step, and a test proves that both agree.
--
-- Times are integer milliseconds since 1970 UTC, ids are UUIDv7 from the caller, JSON is TEXT with a CHECK.
-- Every table is STRICT, so that a value of another type is an error.
-- Triggers maintain the counters (…_count, checks_…). No query writes them, and no total scans a table.

PRAGMA application_id = 0x5772726e; -- "Wrrn": the id that identifies our files among SQLite files

-- A workspace scopes profiles and proxies. Its counters are the totals of lists.
CREATE TABLE workspaces (
    id            TEXT    NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64),
    name          TEXT    NOT NULL DEFAULT '',
    profile_count INTEGER NOT NULL DEFAULT 0 CHECK (profile_count >= 0), -- profiles outside the trash
    trashed_count INTEGER NOT NULL DEFAULT 0 CHECK (trashed_count >= 0), -- profiles in the trash
    proxy_count   INTEGER NOT NULL DEFAULT 0 CHECK (proxy_count >= 0),
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    pack_secret   BLOB,     -- of its profiles' snapshots, sealed and bound to this row (store/seal.go); NULL: none was made yet
    defaults      TEXT    NOT NULL DEFAULT '{}' CHECK (defaults = '{}' OR json_valid(defaults) AND json_type(defaults) = 'object'), -- settings of new profiles, as those of templates
    revision      INTEGER NOT NULL DEFAULT 1,  -- increases with each change of the name, the defaults and the quotas; the ETag
    quota_profiles INTEGER CHECK (quota_profiles >= 0), -- most profiles outside the trash; NULL: no limit, also of the others
    quota_running  INTEGER CHECK (quota_running >= 0),  -- most runs at once
    quota_disk_mb  INTEGER CHECK (quota_disk_mb >= 0),  -- in units of 1024 * 1024 bytes
    quota_proxies  INTEGER CHECK (quota_proxies >= 0),
    data_bytes     INTEGER NOT NULL DEFAULT 0           -- of profiles' folders when their last runs ended, and of snapshots' packs
) STRICT;

-- The list of workspaces, newest first.
CREATE INDEX workspaces_created ON workspaces (created_at, id);

-- An API key, stored as its SHA-256. A person recognises the key by its hint.
CREATE TABLE keys (
    id           TEXT    NOT NULL PRIMARY KEY,
    name         TEXT    NOT NULL,
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32), -- UNIQUE is also the index for the look-up of every request
    hint         TEXT    NOT NULL,
    scopes       TEXT    NOT NULL CHECK (json_valid(scopes) AND json_type(scopes) = 'array'),
    workspaces   TEXT    CHECK (workspaces IS NULL OR (json_valid(workspaces) AND json_type(workspaces) = 'array')), -- NULL: all
    expires_at   INTEGER,
    last_used_at INTEGER,
    created_at   INTEGER NOT NULL,
    revoked_at   INTEGER,
    parent       TEXT     -- of a session key: the key that it came from, an id or the mark of WARREN_API_KEY; NULL: no session key
) STRICT;

-- The list of keys, newest first.
CREATE INDEX keys_created ON keys (created_at, id);

-- The session keys of a key, which end with it.
CREATE INDEX keys_of_parent ON keys (parent) WHERE parent IS NOT NULL;

-- A proxy of the pool. The password is sealed (store/seal.go) and bound to this row.
CREATE TABLE proxies (
    id            TEXT    NOT NULL PRIMARY KEY,
    workspace_id  TEXT    NOT NULL REFERENCES workspaces (id),
    type          TEXT    NOT NULL CHECK (type = 'socks5' OR type = 'http' OR type = 'https' OR type = 'socks4'),
    host          TEXT    NOT NULL CHECK (length(host) BETWEEN 1 AND 255),
    port          INTEGER NOT NULL CHECK (port BETWEEN 1 AND 65535),
    username      TEXT    NOT NULL DEFAULT '',
    password      BLOB,
    name          TEXT    NOT NULL DEFAULT '',
    tags          TEXT    NOT NULL DEFAULT '[]' CHECK (tags = '[]' OR json_valid(tags) AND json_type(tags) = 'array'),
    notes         TEXT    NOT NULL DEFAULT '',
    rotate_url    TEXT    NOT NULL DEFAULT '',  -- the part that is no secret
    status        TEXT    NOT NULL DEFAULT 'unknown' CHECK (status = 'unknown' OR status = 'alive' OR status = 'dead'),
    last_check    TEXT    CHECK (last_check IS NULL OR json_valid(last_check)),
    profile_count INTEGER NOT NULL DEFAULT 0 CHECK (profile_count >= 0), -- profiles outside the trash that use it
    checks_total  INTEGER NOT NULL DEFAULT 0 CHECK (checks_total BETWEEN 0 AND 100), -- of the stored checks
    checks_ok     INTEGER NOT NULL DEFAULT 0 CHECK (checks_ok BETWEEN 0 AND checks_total),
    revision      INTEGER NOT NULL DEFAULT 1,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    exit_ip       TEXT    NOT NULL DEFAULT '',  -- of the last good check, like country
    country       TEXT    NOT NULL DEFAULT '',  -- ISO 3166-1 alpha-2
    latency_ms    INTEGER,                      -- of the last check; NULL if that failed
    checked_at    INTEGER NOT NULL DEFAULT 0,   -- when the last check began, good or not; 0: never
    recent        TEXT    NOT NULL DEFAULT '',  -- latencies in ms of the stored checks, oldest first, separated by spaces; "-" for a failed one
    rotated_at    INTEGER NOT NULL DEFAULT 0,   -- when rotateUrl was last called; 0: never
    picked_at     INTEGER NOT NULL DEFAULT 0,   -- when a start last picked it in turn (roundRobin); 0: never
    rotate_sealed BLOB,                         -- the whole rotateUrl, sealed and bound to this row (store/rotate.go); NULL if rotate_url is whole
    UNIQUE (workspace_id, type, host, port, username), -- a second proxy with the same address is a duplicate
    UNIQUE (workspace_id, id)                          -- referenced by profiles, so that no profile uses another workspace's proxy
) STRICT;

-- The proxies of a workspace in the order of their creation, for checks of all.
CREATE INDEX proxies_of_workspace ON proxies (workspace_id, created_at, id);

-- The proxies with the same exit address.
CREATE INDEX proxies_of_exit ON proxies (workspace_id, exit_ip) WHERE exit_ip <> '';

-- The proxies to check next, longest ago first.
CREATE INDEX proxies_of_workspace_checked ON proxies (workspace_id, checked_at, id);

-- The last 100 checks of a proxy.
CREATE TABLE proxy_checks (
    seq      INTEGER NOT NULL PRIMARY KEY,
    proxy_id TEXT    NOT NULL REFERENCES proxies (id) ON DELETE CASCADE,
    at       INTEGER NOT NULL,
    ok       INTEGER NOT NULL CHECK (ok IN (0, 1)),
    result   TEXT    NOT NULL CHECK (json_valid(result))
) STRICT;

-- A proxy's checks in order: for the history newest first, the trimming, and the cascade.
CREATE INDEX proxy_checks_of_proxy ON proxy_checks (proxy_id, seq);

-- A profile. trashed_at means that it is in the trash: hidden from clients, kept for a restore.
--
-- Conditions with three values and more are written with OR: for an IN SQLite makes a temporary table at each insert. An
-- empty list is compared before it is parsed. This halves an insert (store/migrations/0009_cheap_checks.sql).
CREATE TABLE profiles (
    id              TEXT    NOT NULL PRIMARY KEY,
    version         INTEGER NOT NULL DEFAULT 0,    -- unused since caches follow the writer (store/follow.go); to drop it would rewrite the table
    workspace_id    TEXT    NOT NULL REFERENCES workspaces (id),
    name            TEXT    NOT NULL COLLATE NOCASE CHECK (length(name) BETWEEN 1 AND 200), -- the lists sort this way
    os              TEXT    NOT NULL CHECK (os = 'win' OR os = 'mac' OR os = 'linux'),
    browser_version TEXT    NOT NULL,
    tags            TEXT    NOT NULL DEFAULT '[]' CHECK (tags = '[]' OR json_valid(tags) AND json_type(tags) = 'array'),
    tags_key        TEXT    NOT NULL DEFAULT '',   -- store.TagsKey(tags): case-folded, for the index of lists
    notes           TEXT    NOT NULL DEFAULT '',
    search_key      TEXT    NOT NULL CHECK (search_key <> ''), -- store.SearchKey(name, notes): case-folded, for the index of lists
    proxy_id        TEXT,
    proxy_missing   INTEGER NOT NULL DEFAULT 0 CHECK (proxy_missing IN (0, 1)), -- its proxy was deleted: a start needs a new choice
    start_urls      TEXT    NOT NULL DEFAULT '[]' CHECK (start_urls = '[]' OR json_valid(start_urls) AND json_type(start_urls) = 'array'),
    timezone        TEXT    NOT NULL DEFAULT 'auto',
    locale          TEXT    NOT NULL DEFAULT 'auto' CHECK (locale IN ('auto', 'system') OR (json_valid(locale) AND json_type(locale) = 'array')),
    geolocation     TEXT    NOT NULL DEFAULT 'auto' CHECK (geolocation IN ('auto', 'off') OR (json_valid(geolocation) AND json_type(geolocation) = 'object')),
    webrtc          TEXT    NOT NULL DEFAULT 'proxy_only' CHECK (webrtc = 'proxy_only' OR webrtc = 'off' OR webrtc = 'default'),
    screen          TEXT    CHECK (screen IS NULL OR (json_valid(screen) AND json_type(screen) = 'object')),
    headless        INTEGER CHECK (headless IN (0, 1)), -- NULL: headed where there is a display
    idle_timeout_ms INTEGER,
    max_run_ms      INTEGER,
    status          TEXT    NOT NULL DEFAULT 'stopped' CHECK (status = 'stopped' OR status = 'starting' OR status = 'running' OR status = 'stopping' OR status = 'failed'),
    last_run        TEXT    CHECK (last_run IS NULL OR json_valid(last_run)),
    last_started_at INTEGER NOT NULL DEFAULT 0,  -- 0: never; not NULL, so that the keyset walk of its sort order sees every row
    disk_bytes      INTEGER NOT NULL DEFAULT 0,
    revision        INTEGER NOT NULL DEFAULT 1,  -- increases with each change of the settings; the ETag
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    trashed_at      INTEGER,
    trashed         INTEGER NOT NULL GENERATED ALWAYS AS (trashed_at IS NOT NULL) VIRTUAL, -- stored only in the indexes
    background_traffic TEXT NOT NULL DEFAULT 'refuse' CHECK (background_traffic IN ('refuse', 'allow')), -- what the relay does with the requests of Chrome's own services
    allow_local     TEXT    NOT NULL DEFAULT '[]' CHECK (allow_local = '[]' OR json_valid(allow_local) AND json_type(allow_local) = 'array'), -- "host:port" of this machine or its network
    consistency     TEXT    NOT NULL DEFAULT 'warn' CHECK (consistency = 'off' OR consistency = 'warn' OR consistency = 'block'), -- what a start does if the settings contradict the exit
    fallback_proxy_ids TEXT NOT NULL DEFAULT '[]' CHECK (fallback_proxy_ids = '[]' OR json_valid(fallback_proxy_ids) AND json_type(fallback_proxy_ids) = 'array'), -- in order; proxies of the same workspace
    fallback_country TEXT   NOT NULL DEFAULT 'same' CHECK (fallback_country IN ('same', 'any')), -- where a fallback's exit may be
    allow_hosts     TEXT    NOT NULL DEFAULT '[]' CHECK (allow_hosts = '[]' OR json_valid(allow_hosts) AND json_type(allow_hosts) = 'array'), -- patterns; none: every host
    deny_hosts      TEXT    NOT NULL DEFAULT '[]' CHECK (deny_hosts = '[]' OR json_valid(deny_hosts) AND json_type(deny_hosts) = 'array'),
    localhost_via   TEXT    NOT NULL DEFAULT '[]' CHECK (localhost_via = '[]' OR json_valid(localhost_via) AND json_type(localhost_via) = 'array'), -- "port" or "name:port" of this machine
    log_hosts       INTEGER NOT NULL DEFAULT 0 CHECK (log_hosts IN (0, 1)), -- record the names that each run connects to
    temporary       INTEGER NOT NULL DEFAULT 0 CHECK (temporary IN (0, 1)), -- deleted with its data when its run has ended
    snapshots       TEXT    CHECK (snapshots = 'on' OR snapshots = 'off'),  -- whether a stop makes one; NULL: as the server does
    head_id         TEXT,                        -- the snapshot that its data go on from; NULL: none
    snapshot_due    INTEGER NOT NULL DEFAULT 0 CHECK (snapshot_due IN (0, 1)), -- it has stopped, and no snapshot was made of it yet
    template_id     TEXT,                        -- the template that it was created with, which may be deleted; NULL: none
    args            TEXT    NOT NULL DEFAULT '[]' CHECK (args = '[]' OR json_valid(args) AND json_type(args) = 'array'), -- switches of the browser
    sources         TEXT    NOT NULL DEFAULT '' CHECK (sources = '' OR json_valid(sources)), -- identity.Sources: where its settings are from; '': all are its own
    extensions      TEXT    NOT NULL DEFAULT '[]' CHECK (extensions = '[]' OR json_valid(extensions) AND json_type(extensions) = 'array'), -- {"id", "enabled"} each
    passkeys        TEXT    NOT NULL DEFAULT 'off' CHECK (passkeys IN ('off', 'auto', 'ask')), -- who allows pages to make and use them
    start_with_server INTEGER NOT NULL DEFAULT 0 CHECK (start_with_server IN (0, 1)), -- started when the server is up
    limits          TEXT    CHECK (limits IS NULL OR (json_valid(limits) AND json_type(limits) = 'object')), -- memoryMb, cpuPercent, pids; NULL, or absent: the server's
    freeze_after    INTEGER CHECK (freeze_after >= 0), -- seconds until a run that nobody needs is frozen; 0: never; NULL: the server's
    node_id         TEXT,                        -- the server whose disk has its data: set at the first start; NULL: none yet, and always so with SQLite. No foreign key: the data may come back with a node that was removed
    placement       TEXT    CHECK (placement IS NULL OR (json_valid(placement) AND json_type(placement) = 'object')), -- labels of the servers on which it may first start; NULL: on all. Without effect with SQLite
    CHECK ((tags = '[]') = (tags_key = '')),
    CHECK (proxy_id IS NULL OR proxy_missing = 0),
    FOREIGN KEY (workspace_id, proxy_id) REFERENCES proxies (workspace_id, id)
) STRICT;

-- A workspace's profiles, newest first: what a list has while its index is loaded into memory (store/list_index.go).
-- Every other order and filter of the lists is found there, so that a write maintains no index for it. trashed makes the
-- index serve the list and the trash.
CREATE INDEX profiles_of_workspace_created ON profiles (workspace_id, trashed, created_at, id);

-- The profiles that use a proxy: for the error proxy_in_use, and for the foreign key when a proxy is deleted.
CREATE INDEX profiles_of_proxy ON profiles (proxy_id, id) WHERE proxy_id IS NOT NULL;

-- The profiles that have fallbacks: searched when a proxy is deleted.
CREATE INDEX profiles_with_fallbacks ON profiles (workspace_id, id) WHERE fallback_proxy_ids <> '[]';

-- The profiles that have extensions: searched when one is deleted.
CREATE INDEX profiles_with_extensions ON profiles (workspace_id, id) WHERE extensions <> '[]';

-- The profiles that start with the server, in the order of their creation.
CREATE INDEX profiles_with_server ON profiles (created_at, id) WHERE start_with_server = 1;

-- The profiles whose data a node has: searched when it is removed. With SQLite it stays empty.
CREATE INDEX profiles_of_node ON profiles (node_id, id) WHERE node_id IS NOT NULL;

-- Running and failed profiles: few rows, read at every boot.
CREATE INDEX profiles_not_stopped ON profiles (status, id) WHERE status <> 'stopped';

-- The purge of the trash, oldest first.
CREATE INDEX profiles_trashed ON profiles (trashed_at, id) WHERE trashed_at IS NOT NULL;

-- Profiles that have stopped, and of which a snapshot is to be made: few.
CREATE INDEX profiles_snapshot_due ON profiles (id) WHERE snapshot_due = 1;

-- Profiles to delete when their run has ended.
CREATE INDEX profiles_temporary ON profiles (status, id) WHERE temporary = 1;

-- A template: settings for new profiles. A profile keeps the values that it got, so that none refers to a template.
CREATE TABLE templates (
    id           TEXT    NOT NULL PRIMARY KEY,
    workspace_id TEXT    NOT NULL REFERENCES workspaces (id),
    name         TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    search_key   TEXT    NOT NULL,                -- store.Fold(name): case-folded, for the filter of lists
    settings     TEXT    NOT NULL CHECK (json_valid(settings) AND json_type(settings) = 'object'), -- members of requests, normalised; none is null
    revision     INTEGER NOT NULL DEFAULT 1,      -- increases with each change; the ETag
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    UNIQUE (workspace_id, name)
) STRICT;

-- The list of templates, newest first.
CREATE INDEX templates_created ON templates (created_at, id);

-- A schedule: when something is done with profiles or proxies. It refers to none of them, so that they can be deleted.
CREATE TABLE schedules (
    id           TEXT    NOT NULL PRIMARY KEY,
    workspace_id TEXT    NOT NULL REFERENCES workspaces (id),
    name         TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    search_key   TEXT    NOT NULL, -- store.Fold(name), for the filter of lists
    enabled      INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    cron         TEXT    NOT NULL DEFAULT '', -- five fields; '': every_ms
    time_zone    TEXT    NOT NULL DEFAULT '', -- an IANA name; '': without cron
    every_ms     INTEGER, -- NULL: cron
    action       TEXT    NOT NULL CHECK (action IN ('start', 'stop', 'check', 'snapshot', 'rotate')),
    profile_ids  TEXT    CHECK (profile_ids IS NULL OR json_valid(profile_ids) AND json_type(profile_ids) = 'array'), -- what it acts on: these,
    proxy_ids    TEXT    CHECK (proxy_ids IS NULL OR json_valid(proxy_ids) AND json_type(proxy_ids) = 'array'), -- or these,
    tag          TEXT, -- or what has this tag then
    start_urls   TEXT    CHECK (start_urls IS NULL OR json_valid(start_urls) AND json_type(start_urls) = 'array'), -- instead of the profile's; NULL: those
    max_run_ms   INTEGER, -- instead of the profile's; NULL: that
    catch_up     INTEGER NOT NULL DEFAULT 0 CHECK (catch_up IN (0, 1)), -- run once for occurrences that were missed
    next_at      INTEGER, -- the next occurrence; NULL: none, such as while it is not enabled
    planned_at   INTEGER NOT NULL DEFAULT 0, -- what the clock showed when next_at was computed: a later time means that the clock was set back
    last_run     TEXT    CHECK (last_run IS NULL OR json_valid(last_run)), -- schedules.Occurrence: of the last occurrence that ran
    missed       INTEGER NOT NULL DEFAULT 0, -- occurrences at which no server ran, or the machine slept; missed_at is the last of them
    missed_at    INTEGER,
    skipped      INTEGER NOT NULL DEFAULT 0, -- occurrences at which the one before still went on
    skipped_at   INTEGER,
    revision     INTEGER NOT NULL DEFAULT 1, -- increases with each change by a caller; the ETag
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    node_id      TEXT    NOT NULL DEFAULT '', -- the server that ran the last occurrence; '': one with a database of its own
    CHECK ((cron = '') = (time_zone = '') AND (cron = '') = (every_ms IS NOT NULL)),
    CHECK ((profile_ids IS NOT NULL) + (proxy_ids IS NOT NULL) + (tag IS NOT NULL) = 1)
) STRICT;

-- The list of schedules, newest first.
CREATE INDEX schedules_created ON schedules (created_at, id);

-- Those of a workspace: to count them, and for the foreign key when it is deleted.
CREATE INDEX schedules_of_workspace ON schedules (workspace_id, id);

-- The schedules that are due next, and those that were planned while the clock was ahead.
CREATE INDEX schedules_due ON schedules (next_at, id) WHERE next_at IS NOT NULL;
CREATE INDEX schedules_planned ON schedules (planned_at, id) WHERE next_at IS NOT NULL;

-- An endpoint that is told of the events of a workspace, or of all events. Its address and its secrets are sealed and bound to this row
-- (store/seal.go).
CREATE TABLE webhooks (
    id            TEXT    NOT NULL PRIMARY KEY,
    workspace_id  TEXT    REFERENCES workspaces (id), -- NULL: of the server; no key that sees some workspaces finds it
    url           BLOB    NOT NULL,
    secret        BLOB    NOT NULL,
    old_secret    BLOB, -- signs too until old_until; NULL: none does
    old_until     INTEGER,
    events        TEXT    NOT NULL CHECK (json_valid(events) AND json_type(events) = 'array'), -- the types that it is told of: "run.ended", "run.*", "*"
    enabled       INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    off_reason    TEXT    NOT NULL DEFAULT '' CHECK (off_reason = '' OR off_reason = 'gone' OR off_reason = 'failing'), -- why the server turned it off
    failing_since INTEGER, -- the first failure since the last success; failed_at is the last one
    failed_at     INTEGER,
    dropped       INTEGER NOT NULL DEFAULT 0, -- deliveries that were dropped because too many were pending; dropped_at is the last time
    dropped_at    INTEGER,
    revision      INTEGER NOT NULL DEFAULT 1, -- increases with each change of the settings; the ETag
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    CHECK ((old_secret IS NULL) = (old_until IS NULL))
) STRICT;

-- The list of webhooks, newest first.
CREATE INDEX webhooks_created ON webhooks (created_at, id);

-- Those of a workspace: to count them, and for the foreign key when it is deleted.
CREATE INDEX webhooks_of_workspace ON webhooks (workspace_id, id);

-- What a webhook is told. There may be thousands a second, so that a row is in its table and, while it is pending, in one index.
CREATE TABLE webhook_deliveries (
    webhook_id TEXT    NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    id         TEXT    NOT NULL, -- in the order of the events
    event_id   TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    body       TEXT    NOT NULL,
    state      TEXT    NOT NULL DEFAULT 'pending' CHECK (state = 'pending' OR state = 'delivered' OR state = 'failed'),
    attempts   INTEGER NOT NULL DEFAULT 0, -- since it was enqueued or replayed
    tries      TEXT    NOT NULL DEFAULT '[]' CHECK (tries = '[]' OR json_valid(tries) AND json_type(tries) = 'array'), -- webhooks.Attempt: the last ones, oldest first
    next_at    INTEGER NOT NULL, -- when a pending one is due
    planned_at INTEGER NOT NULL, -- what the clock showed when next_at was computed: a later time means that the clock was set back
    created_at INTEGER NOT NULL,
    PRIMARY KEY (webhook_id, id)
) STRICT, WITHOUT ROWID;

-- The deliveries of a webhook that are due next.
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, next_at, id) WHERE state = 'pending';

-- A package of an extension. Its files lie unpacked in a folder that is called after its sha256 (package extensions).
CREATE TABLE extensions (
    id                   TEXT    NOT NULL PRIMARY KEY,
    workspace_id         TEXT    NOT NULL REFERENCES workspaces (id),
    extension_id         TEXT    NOT NULL CHECK (length(extension_id) = 32), -- Chrome's, which follows from the extension's key
    name                 TEXT    NOT NULL,
    description          TEXT    NOT NULL,
    version              TEXT    NOT NULL,
    minimum_chrome       TEXT    NOT NULL,                -- '': any
    sha256               TEXT    NOT NULL CHECK (length(sha256) = 64), -- of the package's file, in hexadecimal digits
    bytes                INTEGER NOT NULL,                -- unpacked
    files                INTEGER NOT NULL,
    rules                INTEGER NOT NULL CHECK (rules IN (0, 1)), -- Chrome writes beside its files when it loads them
    permissions          TEXT    NOT NULL CHECK (json_valid(permissions)),
    optional_permissions TEXT    NOT NULL CHECK (json_valid(optional_permissions)),
    hosts                TEXT    NOT NULL CHECK (json_valid(hosts)),
    optional_hosts       TEXT    NOT NULL CHECK (json_valid(optional_hosts)),
    created_at           INTEGER NOT NULL,
    UNIQUE (workspace_id, sha256) -- a second upload of the same package is a duplicate
) STRICT;

-- The workspaces that have a package, for its deletion.
CREATE INDEX extensions_of_package ON extensions (sha256);

-- A snapshot of a profile's data. Its tree is an object with the same id, its content is in packs (package packs).
CREATE TABLE snapshots (
    id           TEXT    NOT NULL PRIMARY KEY,
    profile_id   TEXT    NOT NULL REFERENCES profiles (id) ON DELETE CASCADE,
    workspace_id TEXT    NOT NULL,                -- the profile's; the secret of the packs is its
    parent       TEXT,                            -- the snapshot that the data went on from, also of another profile; it may be gone
    reason       TEXT    NOT NULL CHECK (reason IN ('stop', 'asked', 'live', 'before_rollback', 'before_downgrade', 'clone', 'import')),
    name         TEXT    NOT NULL DEFAULT '',
    pinned       INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)), -- kept until it is deleted
    browser      TEXT    NOT NULL DEFAULT '',     -- the full version that last opened the data
    bytes        INTEGER NOT NULL,                -- of its files
    new_bytes    INTEGER NOT NULL,                -- that were written for it
    created_at   INTEGER NOT NULL
) STRICT;

-- A profile's snapshots, newest first, and the cascade.
CREATE INDEX snapshots_of_profile ON snapshots (profile_id, created_at, id);

-- An object that holds content of snapshots. A pack is announced before it is written, and forgotten after it is deleted.
CREATE TABLE packs (
    name         TEXT    NOT NULL PRIMARY KEY,    -- the SHA-256 of its bytes
    workspace_id TEXT    NOT NULL,
    bytes        INTEGER NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('pending', 'there', 'going')), -- announced; in a snapshot; about to be deleted
    seen_at      INTEGER NOT NULL,                -- when it was announced, named by a snapshot, let go by one, or chosen to go
    node_id      TEXT    NOT NULL DEFAULT ''      -- the server whose disk has it; '': one with a database of its own, or not known yet
) STRICT, WITHOUT ROWID;

-- The packs that nobody has touched for longest, for the collection.
CREATE INDEX packs_seen ON packs (seen_at);

-- Which packs a snapshot needs.
CREATE TABLE snapshot_packs (
    snapshot_id TEXT NOT NULL REFERENCES snapshots (id) ON DELETE CASCADE,
    pack        TEXT NOT NULL REFERENCES packs (name),
    PRIMARY KEY (snapshot_id, pack)
) STRICT, WITHOUT ROWID;

CREATE INDEX snapshot_packs_of_pack ON snapshot_packs (pack);

-- The history of runs. record is the start's answer without secrets, and how the run ended.
CREATE TABLE runs (
    id           TEXT    NOT NULL PRIMARY KEY,
    profile_id   TEXT    NOT NULL REFERENCES profiles (id) ON DELETE CASCADE,
    workspace_id TEXT    NOT NULL,                -- the profile's; stored here so that a list of runs needs no join
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER,                         -- NULL: open
    outcome      TEXT    NOT NULL DEFAULT '',
    record       TEXT    NOT NULL CHECK (json_valid(record))
) STRICT;

-- A profile's runs, newest first, and the cascade.
CREATE INDEX runs_of_profile ON runs (profile_id, started_at, id);

-- The open runs, newest first: read at boot and by GET /runs.
CREATE INDEX runs_open ON runs (started_at, id) WHERE ended_at IS NULL;

-- The host names that a run connected to, if its profile has log_hosts.
CREATE TABLE run_hosts (
    run_id TEXT NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    hosts  TEXT NOT NULL CHECK (json_valid(hosts))
) STRICT;

-- The traffic through a run's relay, by proxy and day. A run reports sums, so that a repeated report counts once.
-- The rows survive the deletion of the profile and of the proxy; they are purged by age.
CREATE TABLE traffic (
    run_id       TEXT    NOT NULL,
    proxy_id     TEXT    NOT NULL,                 -- '': direct
    day          INTEGER NOT NULL,                 -- days since 1970-01-01 UTC
    profile_id   TEXT    NOT NULL,
    workspace_id TEXT    NOT NULL,
    bytes_up     INTEGER NOT NULL CHECK (bytes_up >= 0),
    bytes_down   INTEGER NOT NULL CHECK (bytes_down >= 0),
    connections  INTEGER NOT NULL CHECK (connections >= 0),
    PRIMARY KEY (run_id, proxy_id, day)
) STRICT, WITHOUT ROWID;

-- By proxy, by profile, and for the purge.
CREATE INDEX traffic_of_proxy ON traffic (proxy_id, day);
CREATE INDEX traffic_of_profile ON traffic (profile_id, day);
CREATE INDEX traffic_of_day ON traffic (day);

-- The proxy that a profile has for a tag (start with pick sticky): later starts get the same one.
CREATE TABLE picks (
    profile_id TEXT    NOT NULL REFERENCES profiles (id) ON DELETE CASCADE,
    tag        TEXT    NOT NULL, -- case-folded
    proxy_id   TEXT    NOT NULL REFERENCES proxies (id) ON DELETE CASCADE,
    PRIMARY KEY (profile_id, tag)
) STRICT, WITHOUT ROWID;

-- For the cascade from proxies.
CREATE INDEX picks_of_proxy ON picks (proxy_id);

-- The log of changes and of secrets. Rows are only appended, each with a hash over itself and the row before (store/audit.go).
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

CREATE TRIGGER audit_fixed BEFORE UPDATE ON audit
WHEN old.hash <> x''
BEGIN
    SELECT RAISE(ABORT, 'the audit log is only appended to');
END;

-- Only rows up to the anchor are removed, and the anchor never goes back.
CREATE TRIGGER audit_kept BEFORE DELETE ON audit
WHEN old.seq > (SELECT anchor_seq FROM audit_chain)
BEGIN
    SELECT RAISE(ABORT, 'the audit log is only appended to');
END;

CREATE TRIGGER audit_chain_kept BEFORE DELETE ON audit_chain
BEGIN
    SELECT RAISE(ABORT, 'the audit log is only appended to');
END;

CREATE TRIGGER audit_chain_grows BEFORE UPDATE ON audit_chain
WHEN new.anchor_seq < old.anchor_seq OR new.last_seq < old.last_seq
BEGIN
    SELECT RAISE(ABORT, 'the audit log is only appended to');
END;

-- First answers by Idempotency-Key. Status 0: the first request is in progress.
CREATE TABLE idempotency (
    key_id     TEXT    NOT NULL,
    idem_key   TEXT    NOT NULL,
    target     TEXT    NOT NULL,                  -- store.IdempotencyTarget(method, address): a hash
    body_hash  BLOB    NOT NULL,
    object     TEXT    NOT NULL DEFAULT '',      -- what the request created: returned to a repeated request after a crash before the answer
    status     INTEGER NOT NULL DEFAULT 0,
    headers    TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(headers)),
    answer     BLOB,                              -- sealed: answers can contain a key that is shown once
    created_at INTEGER NOT NULL,
    node_id    TEXT    NOT NULL DEFAULT '',      -- the server that has the first request; '': one with a database of its own
    PRIMARY KEY (key_id, idem_key, target)
) STRICT, WITHOUT ROWID;

-- The answers of a key, newest first, for trimming.
CREATE INDEX idempotency_of_key ON idempotency (key_id, created_at);

-- The purge after 24 hours.
CREATE INDEX idempotency_created ON idempotency (created_at);

-- The servers that share this database; with SQLite there is none. A server makes its row when it starts, and moves the beat while it
-- serves. Times are of the database's clock, so that no two machines' clocks are compared.
CREATE TABLE nodes (
    id          TEXT    NOT NULL PRIMARY KEY,      -- kept in the server's data folder
    name        TEXT    NOT NULL,
    address     TEXT    NOT NULL,                  -- a URL
    version     TEXT    NOT NULL,                  -- of warren
    incarnation TEXT    NOT NULL,                  -- changes with each start of the process
    beat        INTEGER NOT NULL DEFAULT 1,        -- a counter, which moves every few seconds
    beat_at     INTEGER NOT NULL,                  -- when it moved last, in milliseconds
    started_at  INTEGER NOT NULL,
    stopped     INTEGER NOT NULL DEFAULT 0 CHECK (stopped IN (0, 1)), -- it ended in order, so that nobody waits for its beat
    capacity    INTEGER NOT NULL DEFAULT 0 CHECK (capacity >= 0), -- browsers that may run at once; 0: no limit
    running     INTEGER NOT NULL DEFAULT 0 CHECK (running >= 0),
    browsers    TEXT    NOT NULL DEFAULT '[]' CHECK (json_valid(browsers) AND json_type(browsers) = 'array'), -- {"system", "version"} each
    labels      TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(labels) AND json_type(labels) = 'object'),
    draining    INTEGER NOT NULL DEFAULT 0 CHECK (draining IN (0, 1)), -- it takes no new starts; kept over a restart
    schema      INTEGER NOT NULL DEFAULT 0, -- the newest that the server knows
    pressure    INTEGER NOT NULL DEFAULT 0 CHECK (pressure BETWEEN 0 AND 100) -- how busy its machine is, in percent, at the last beat
) STRICT;

-- What one of the servers that share this database does at a time (store.Alone); with SQLite there is none.
CREATE TABLE duties (
    name   TEXT    NOT NULL PRIMARY KEY,
    holder TEXT    NOT NULL, -- who does it
    until  INTEGER NOT NULL  -- by the database's clock; from then on another one may take it
) STRICT, WITHOUT ROWID;

-- Proxies that a batch has dealt to profiles which do not have them yet, so that no other deal takes them. Those of a server that is gone do
-- not count.
CREATE TABLE deals (
    id      TEXT NOT NULL PRIMARY KEY,
    node_id TEXT NOT NULL, -- the server whose batch it is; '': the only one
    proxies TEXT NOT NULL CHECK (json_valid(proxies) AND json_type(proxies) = 'object') -- how many profiles get each, by the proxy's id
) STRICT;

-- Unused tickets, and the codes of login links, where servers share this database. With SQLite they are in memory.
CREATE TABLE tickets (
    hash  BLOB    NOT NULL PRIMARY KEY CHECK (length(hash) = 32), -- SHA-256
    key   TEXT    NOT NULL, -- whose rights it has: an id, or the mark of WARREN_API_KEY
    path  TEXT    NOT NULL, -- of the socket that it opens; '': it is the code of a login link
    until INTEGER NOT NULL  -- by the database's clock
) STRICT, WITHOUT ROWID;

-- The tickets of a key, which are limited, and those that are over.
CREATE INDEX tickets_of_key ON tickets (key);
CREATE INDEX tickets_until ON tickets (until);

-- Settings of this installation, such as the canary that tells whether the secret key fits.
CREATE TABLE settings (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Triggers: counters of profiles.

CREATE TRIGGER profiles_inserted AFTER INSERT ON profiles
BEGIN
    UPDATE workspaces
    SET profile_count = profile_count + (new.trashed_at IS NULL),
        trashed_count = trashed_count + (new.trashed_at IS NOT NULL),
        data_bytes = data_bytes + new.disk_bytes
    WHERE id = new.workspace_id;
END;

-- By itself, so that a create without a proxy opens no table of proxies.
CREATE TRIGGER profiles_inserted_with_proxy AFTER INSERT ON profiles
WHEN new.proxy_id IS NOT NULL AND new.trashed_at IS NULL
BEGIN
    UPDATE proxies SET profile_count = profile_count + 1 WHERE id = new.proxy_id;
END;

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

CREATE TRIGGER profiles_trashed_or_restored AFTER UPDATE OF trashed_at ON profiles
WHEN (old.trashed_at IS NULL) <> (new.trashed_at IS NULL)
BEGIN
    UPDATE workspaces
    SET profile_count = profile_count + (new.trashed_at IS NULL) - (old.trashed_at IS NULL),
        trashed_count = trashed_count + (new.trashed_at IS NOT NULL) - (old.trashed_at IS NOT NULL)
    WHERE id = new.workspace_id;
END;

-- A profile holds its proxy only outside the trash. One statement may change both columns.
CREATE TRIGGER profiles_proxy_changed AFTER UPDATE OF proxy_id, trashed_at ON profiles
WHEN old.proxy_id IS NOT new.proxy_id OR (old.trashed_at IS NULL) <> (new.trashed_at IS NULL)
BEGIN
    UPDATE proxies SET profile_count = profile_count - 1
    WHERE id = old.proxy_id AND old.trashed_at IS NULL;
    UPDATE proxies SET profile_count = profile_count + 1
    WHERE id = new.proxy_id AND new.trashed_at IS NULL;
END;

-- A profile and a proxy stay in their workspace, since counters and references rely on it.
CREATE TRIGGER profiles_workspace_fixed BEFORE UPDATE OF workspace_id ON profiles
WHEN old.workspace_id <> new.workspace_id
BEGIN
    SELECT RAISE(ABORT, 'workspace_id never changes');
END;

CREATE TRIGGER templates_workspace_fixed BEFORE UPDATE OF workspace_id ON templates
WHEN old.workspace_id <> new.workspace_id
BEGIN
    SELECT RAISE(ABORT, 'workspace_id never changes');
END;

CREATE TRIGGER schedules_workspace_fixed BEFORE UPDATE OF workspace_id ON schedules
WHEN old.workspace_id <> new.workspace_id
BEGIN
    SELECT RAISE(ABORT, 'workspace_id never changes');
END;

CREATE TRIGGER webhooks_workspace_fixed BEFORE UPDATE OF workspace_id ON webhooks
WHEN old.workspace_id IS NOT new.workspace_id
BEGIN
    SELECT RAISE(ABORT, 'workspace_id never changes');
END;

CREATE TRIGGER proxies_workspace_fixed BEFORE UPDATE OF workspace_id ON proxies
WHEN old.workspace_id <> new.workspace_id
BEGIN
    SELECT RAISE(ABORT, 'workspace_id never changes');
END;

-- A pack that a snapshot lets go stays for a while: a save that goes on may need it.
CREATE TRIGGER snapshot_packs_deleted AFTER DELETE ON snapshot_packs
BEGIN
    UPDATE packs SET seen_at = CAST(unixepoch('subsec') * 1000 AS INTEGER) WHERE name = old.pack;
END;

-- Triggers: proxies.

CREATE TRIGGER proxies_inserted AFTER INSERT ON proxies
BEGIN
    UPDATE workspaces SET proxy_count = proxy_count + 1 WHERE id = new.workspace_id;
END;

CREATE TRIGGER proxies_deleted AFTER DELETE ON proxies
BEGIN
    UPDATE workspaces SET proxy_count = proxy_count - 1 WHERE id = old.workspace_id;
END;

-- A trashed profile does not hold its proxy, but remembers that it had one. The foreign key refuses the deletion for
-- profiles outside the trash.
CREATE TRIGGER proxies_leave_the_trash BEFORE DELETE ON proxies
BEGIN
    UPDATE profiles SET proxy_id = NULL, proxy_missing = 1
    WHERE proxy_id = old.id AND trashed_at IS NOT NULL;
END;

-- Triggers: what a workspace's data take, and its quotas. Whatever writes a row that is counted is refused above a quota.

CREATE TRIGGER profiles_measured AFTER UPDATE OF disk_bytes ON profiles
WHEN old.disk_bytes <> new.disk_bytes
BEGIN
    UPDATE workspaces SET data_bytes = data_bytes + new.disk_bytes - old.disk_bytes WHERE id = new.workspace_id;
END;

CREATE TRIGGER packs_inserted AFTER INSERT ON packs
BEGIN
    UPDATE workspaces SET data_bytes = data_bytes + new.bytes WHERE id = new.workspace_id;
END;

CREATE TRIGGER packs_deleted AFTER DELETE ON packs
BEGIN
    UPDATE workspaces SET data_bytes = data_bytes - old.bytes WHERE id = old.workspace_id;
END;

-- Packs of a workspace that was deleted stay for a while. A new one with its id has them again.
CREATE TRIGGER workspaces_inserted AFTER INSERT ON workspaces
BEGIN
    UPDATE workspaces SET data_bytes = (SELECT coalesce(sum(bytes), 0) FROM packs WHERE workspace_id = new.id) WHERE id = new.id;
END;

CREATE TRIGGER workspaces_quota_profiles BEFORE UPDATE OF profile_count ON workspaces
WHEN new.profile_count > old.profile_count AND new.profile_count > old.quota_profiles
BEGIN
    SELECT RAISE(ABORT, 'quota of profiles of ' || old.id || ';');
END;

CREATE TRIGGER workspaces_quota_proxies BEFORE UPDATE OF proxy_count ON workspaces
WHEN new.proxy_count > old.proxy_count AND new.proxy_count > old.quota_proxies
BEGIN
    SELECT RAISE(ABORT, 'quota of proxies of ' || old.id || ';');
END;

-- Triggers: checks. The counters cover the stored checks: the last 100.

CREATE TRIGGER proxy_checks_inserted AFTER INSERT ON proxy_checks
BEGIN
    DELETE FROM proxy_checks
    WHERE proxy_id = new.proxy_id
      AND seq <= (SELECT seq FROM proxy_checks WHERE proxy_id = new.proxy_id ORDER BY seq DESC LIMIT 1 OFFSET 100);
    UPDATE proxies SET checks_total = checks_total + 1, checks_ok = checks_ok + new.ok
    WHERE id = new.proxy_id;
END;

-- One SET for both columns, since checks_ok must not exceed checks_total in between.
CREATE TRIGGER proxy_checks_deleted AFTER DELETE ON proxy_checks
BEGIN
    UPDATE proxies SET checks_total = checks_total - 1, checks_ok = checks_ok - old.ok
    WHERE id = old.proxy_id;
END;

-- Ids of recently deleted rows. A list that continues behind one of them fails (410 cursor_gone) instead of looking
-- complete. Rows are kept for a week.
CREATE TABLE deleted (
    id           TEXT    NOT NULL,
    kind         TEXT    NOT NULL CHECK (kind <> ''), -- as the lists name their objects
    workspace_id TEXT    NOT NULL,
    at           INTEGER NOT NULL,
    PRIMARY KEY (id, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX deleted_at ON deleted (at);

CREATE TRIGGER profiles_remembered AFTER DELETE ON profiles
BEGIN
    INSERT OR REPLACE INTO deleted (id, kind, workspace_id, at) VALUES (old.id, 'profile', old.workspace_id, CAST(unixepoch('subsec') * 1000 AS INTEGER));
END;

CREATE TRIGGER proxies_remembered AFTER DELETE ON proxies
BEGIN
    INSERT OR REPLACE INTO deleted (id, kind, workspace_id, at) VALUES (old.id, 'proxy', old.workspace_id, CAST(unixepoch('subsec') * 1000 AS INTEGER));
END;

CREATE TRIGGER runs_remembered AFTER DELETE ON runs
BEGIN
    INSERT OR REPLACE INTO deleted (id, kind, workspace_id, at) VALUES (old.id, 'run', old.workspace_id, CAST(unixepoch('subsec') * 1000 AS INTEGER));
END;

CREATE TRIGGER templates_remembered AFTER DELETE ON templates
BEGIN
    INSERT OR REPLACE INTO deleted (id, kind, workspace_id, at) VALUES (old.id, 'template', old.workspace_id, CAST(unixepoch('subsec') * 1000 AS INTEGER));
END;

CREATE TRIGGER schedules_remembered AFTER DELETE ON schedules
BEGIN
    INSERT OR REPLACE INTO deleted (id, kind, workspace_id, at) VALUES (old.id, 'schedule', old.workspace_id, CAST(unixepoch('subsec') * 1000 AS INTEGER));
END;

CREATE TRIGGER webhooks_remembered AFTER DELETE ON webhooks
BEGIN
    INSERT OR REPLACE INTO deleted (id, kind, workspace_id, at) VALUES (old.id, 'webhook', ifnull(old.workspace_id, ''), CAST(unixepoch('subsec') * 1000 AS INTEGER));
END;

CREATE TRIGGER workspaces_remembered AFTER DELETE ON workspaces
BEGIN
    INSERT OR REPLACE INTO deleted (id, kind, workspace_id, at) VALUES (old.id, 'workspace', old.id, CAST(unixepoch('subsec') * 1000 AS INTEGER));
END;

-- Only session keys are deleted, those that were unused for longest.
CREATE TRIGGER keys_remembered AFTER DELETE ON keys
BEGIN
    INSERT OR REPLACE INTO deleted (id, kind, workspace_id, at) VALUES (old.id, 'key', coalesce(json_extract(old.workspaces, '$[0]'), ''), CAST(unixepoch('subsec') * 1000 AS INTEGER));
END;
