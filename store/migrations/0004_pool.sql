-- +goose Up
-- schema.sql gives the reasons.

ALTER TABLE proxies ADD COLUMN exit_ip TEXT NOT NULL DEFAULT '';
ALTER TABLE proxies ADD COLUMN country TEXT NOT NULL DEFAULT '';
ALTER TABLE proxies ADD COLUMN latency_ms INTEGER;
ALTER TABLE proxies ADD COLUMN checked_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE proxies ADD COLUMN recent TEXT NOT NULL DEFAULT '';
ALTER TABLE proxies ADD COLUMN rotated_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE proxies ADD COLUMN picked_at INTEGER NOT NULL DEFAULT 0;

ALTER TABLE profiles ADD COLUMN fallback_proxy_ids TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(fallback_proxy_ids) AND json_type(fallback_proxy_ids) = 'array');
ALTER TABLE profiles ADD COLUMN fallback_country TEXT NOT NULL DEFAULT 'same' CHECK (fallback_country IN ('same', 'any'));
ALTER TABLE profiles ADD COLUMN allow_hosts TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(allow_hosts) AND json_type(allow_hosts) = 'array');
ALTER TABLE profiles ADD COLUMN deny_hosts TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(deny_hosts) AND json_type(deny_hosts) = 'array');
ALTER TABLE profiles ADD COLUMN localhost_via TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(localhost_via) AND json_type(localhost_via) = 'array');
ALTER TABLE profiles ADD COLUMN log_hosts INTEGER NOT NULL DEFAULT 0 CHECK (log_hosts IN (0, 1));

-- The results of existing checks.
UPDATE proxies SET checked_at = coalesce((SELECT max(at) FROM proxy_checks WHERE proxy_id = proxies.id), 0),
    recent = coalesce((SELECT group_concat(CASE ok WHEN 1 THEN coalesce(json_extract(result, '$.latencyMs'), '-') ELSE '-' END, ' ')
        FROM (SELECT ok, result FROM proxy_checks WHERE proxy_id = proxies.id ORDER BY seq)), '')
WHERE checks_total > 0;

UPDATE proxies SET latency_ms = json_extract(last_check, '$.latencyMs') WHERE last_check IS NOT NULL;

UPDATE proxies SET (exit_ip, country) = (
    SELECT coalesce(json_extract(result, '$.exitIp'), ''), coalesce(json_extract(result, '$.country'), '')
    FROM proxy_checks WHERE proxy_id = proxies.id AND ok = 1 ORDER BY seq DESC LIMIT 1)
WHERE checks_ok > 0;

CREATE INDEX proxies_of_exit ON proxies (workspace_id, exit_ip) WHERE exit_ip <> '';
CREATE INDEX proxies_of_workspace_checked ON proxies (workspace_id, checked_at, id);
CREATE INDEX profiles_with_fallbacks ON profiles (workspace_id, id) WHERE fallback_proxy_ids <> '[]';

CREATE TABLE run_hosts (
    run_id TEXT NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    hosts  TEXT NOT NULL CHECK (json_valid(hosts))
) STRICT;

CREATE TABLE traffic (
    run_id       TEXT    NOT NULL,
    proxy_id     TEXT    NOT NULL,
    day          INTEGER NOT NULL,
    profile_id   TEXT    NOT NULL,
    workspace_id TEXT    NOT NULL,
    bytes_up     INTEGER NOT NULL CHECK (bytes_up >= 0),
    bytes_down   INTEGER NOT NULL CHECK (bytes_down >= 0),
    connections  INTEGER NOT NULL CHECK (connections >= 0),
    PRIMARY KEY (run_id, proxy_id, day)
) STRICT, WITHOUT ROWID;

CREATE TABLE picks (
    profile_id TEXT    NOT NULL REFERENCES profiles (id) ON DELETE CASCADE,
    tag        TEXT    NOT NULL,
    proxy_id   TEXT    NOT NULL REFERENCES proxies (id) ON DELETE CASCADE,
    PRIMARY KEY (profile_id, tag)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    id           TEXT    NOT NULL PRIMARY KEY,
    at           INTEGER NOT NULL,
    key_id       TEXT    NOT NULL,
    key_name     TEXT    NOT NULL,
    workspace_id TEXT    NOT NULL DEFAULT '',
    action       TEXT    NOT NULL,
    object_id    TEXT    NOT NULL DEFAULT '',
    remote       TEXT    NOT NULL,
    request_id   TEXT    NOT NULL,
    detail       TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(detail))
) STRICT;

CREATE INDEX traffic_of_proxy ON traffic (proxy_id, day);
CREATE INDEX traffic_of_profile ON traffic (profile_id, day);
CREATE INDEX traffic_of_day ON traffic (day);
CREATE INDEX picks_of_proxy ON picks (proxy_id);
CREATE INDEX audit_at ON audit (at, id);
