-- +goose Up
-- A create costs less. schema.sql gives the reasons.
--
-- The conditions mean what they meant, so no row has to be looked at. SQLite documents this way to change them
-- (https://www.sqlite.org/lang_altertable.html, section 7).

DROP TRIGGER profiles_inserted;

PRAGMA writable_schema = ON;
UPDATE sqlite_schema
SET sql = replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(sql,
        'CHECK (os IN (''win'', ''mac'', ''linux''))',
        'CHECK (os = ''win'' OR os = ''mac'' OR os = ''linux'')'),
        'CHECK (webrtc IN (''proxy_only'', ''off'', ''default''))',
        'CHECK (webrtc = ''proxy_only'' OR webrtc = ''off'' OR webrtc = ''default'')'),
        'CHECK (status IN (''stopped'', ''starting'', ''running'', ''stopping'', ''failed''))',
        'CHECK (status = ''stopped'' OR status = ''starting'' OR status = ''running'' OR status = ''stopping'' OR status = ''failed'')'),
        'CHECK (consistency IN (''off'', ''warn'', ''block''))',
        'CHECK (consistency = ''off'' OR consistency = ''warn'' OR consistency = ''block'')'),
        'CHECK (json_valid(tags) AND json_type(tags) = ''array'')',
        'CHECK (tags = ''[]'' OR json_valid(tags) AND json_type(tags) = ''array'')'),
        'CHECK (json_valid(start_urls) AND json_type(start_urls) = ''array'')',
        'CHECK (start_urls = ''[]'' OR json_valid(start_urls) AND json_type(start_urls) = ''array'')'),
        'CHECK (json_valid(allow_local) AND json_type(allow_local) = ''array'')',
        'CHECK (allow_local = ''[]'' OR json_valid(allow_local) AND json_type(allow_local) = ''array'')'),
        'CHECK (json_valid(fallback_proxy_ids) AND json_type(fallback_proxy_ids) = ''array'')',
        'CHECK (fallback_proxy_ids = ''[]'' OR json_valid(fallback_proxy_ids) AND json_type(fallback_proxy_ids) = ''array'')'),
        'CHECK (json_valid(allow_hosts) AND json_type(allow_hosts) = ''array'')',
        'CHECK (allow_hosts = ''[]'' OR json_valid(allow_hosts) AND json_type(allow_hosts) = ''array'')'),
        'CHECK (json_valid(deny_hosts) AND json_type(deny_hosts) = ''array'')',
        'CHECK (deny_hosts = ''[]'' OR json_valid(deny_hosts) AND json_type(deny_hosts) = ''array'')'),
        'CHECK (json_valid(localhost_via) AND json_type(localhost_via) = ''array'')',
        'CHECK (localhost_via = ''[]'' OR json_valid(localhost_via) AND json_type(localhost_via) = ''array'')')
WHERE type = 'table' AND name = 'profiles';
UPDATE sqlite_schema
SET sql = replace(replace(replace(sql,
        'CHECK (type IN (''socks5'', ''http'', ''https'', ''socks4''))',
        'CHECK (type = ''socks5'' OR type = ''http'' OR type = ''https'' OR type = ''socks4'')'),
        'CHECK (status IN (''unknown'', ''alive'', ''dead''))',
        'CHECK (status = ''unknown'' OR status = ''alive'' OR status = ''dead'')'),
        'CHECK (json_valid(tags) AND json_type(tags) = ''array'')',
        'CHECK (tags = ''[]'' OR json_valid(tags) AND json_type(tags) = ''array'')')
WHERE type = 'table' AND name = 'proxies';
PRAGMA writable_schema = RESET;

-- +goose StatementBegin
CREATE TRIGGER profiles_inserted AFTER INSERT ON profiles
BEGIN
    UPDATE workspaces
    SET profile_count = profile_count + (new.trashed_at IS NULL),
        trashed_count = trashed_count + (new.trashed_at IS NOT NULL)
    WHERE id = new.workspace_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER profiles_inserted_with_proxy AFTER INSERT ON profiles
WHEN new.proxy_id IS NOT NULL AND new.trashed_at IS NULL
BEGIN
    UPDATE proxies SET profile_count = profile_count + 1 WHERE id = new.proxy_id;
END;
-- +goose StatementEnd
