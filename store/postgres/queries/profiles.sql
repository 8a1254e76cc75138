-- name: InsertProfile :one
INSERT INTO profiles (
    id, workspace_id, name, os, browser_version, tags, tags_key, notes, search_key, proxy_id, proxy_missing, start_urls,
    timezone, locale, geolocation, webrtc, screen, headless, idle_timeout_ms, max_run_ms, background_traffic, allow_local,
    consistency, fallback_proxy_ids, fallback_country, allow_hosts, deny_hosts, localhost_via, log_hosts, temporary, snapshots,
    template_id, args, extensions, passkeys, start_with_server, limits, freeze_after, placement, sources, created_at, updated_at
) VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
    $13, $14, $15, $16, $17, $18, $19, $20,
    $21, $22, $23,
    $24, $25, $26, $27, $28, $29, $30, $31,
    $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42
) RETURNING id, version, workspace_id, name, os, browser_version, tags, tags_key, notes, search_key, proxy_id, proxy_missing,
    start_urls, timezone, locale, geolocation, webrtc, screen, headless, idle_timeout_ms, max_run_ms, status, last_run,
    last_started_at, disk_bytes, revision, created_at, updated_at, trashed_at, trashed, background_traffic, allow_local,
    consistency, fallback_proxy_ids, fallback_country, allow_hosts, deny_hosts, localhost_via, log_hosts, temporary, snapshots,
    head_id, snapshot_due, template_id, args, sources, extensions, passkeys, start_with_server, limits, freeze_after, node_id,
    placement;

-- name: AddProfile :exec
INSERT INTO profiles (
    id, workspace_id, name, os, browser_version, tags, tags_key, notes, search_key, proxy_id, proxy_missing, start_urls,
    timezone, locale, geolocation, webrtc, screen, headless, idle_timeout_ms, max_run_ms, background_traffic, allow_local,
    consistency, fallback_proxy_ids, fallback_country, allow_hosts, deny_hosts, localhost_via, log_hosts, temporary, snapshots,
    template_id, args, extensions, passkeys, start_with_server, limits, freeze_after, placement, sources, created_at, updated_at
) VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
    $13, $14, $15, $16, $17, $18, $19, $20,
    $21, $22, $23,
    $24, $25, $26, $27, $28, $29, $30, $31,
    $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42
);

-- name: InsertProfiles :exec
INSERT INTO profiles (
    id, workspace_id, name, os, browser_version, tags, tags_key, notes, search_key, proxy_id, proxy_missing, start_urls,
    timezone, locale, geolocation, webrtc, screen, headless, idle_timeout_ms, max_run_ms, background_traffic, allow_local,
    consistency, fallback_proxy_ids, fallback_country, allow_hosts, deny_hosts, localhost_via, log_hosts, temporary, snapshots,
    template_id, args, extensions, passkeys, start_with_server, limits, freeze_after, placement, sources, created_at, updated_at
)
SELECT value ->> 0, $1::text, value ->> 1, $2::text, $3::text, $4::text,
    $5::text, $6::text, value ->> 2, value ->> 3, $7::bigint,
    $8::text, $9::text, $10::text, $11::text, $12::text,
    $13::text, $14::bigint, $15::bigint, $16::bigint,
    $17::text, $18::text, $19::text,
    $20::text, $21::text, $22::text, $23::text, $24::text,
    $25::bigint, $26::bigint, $27::text,
    $28::text, $29::text, $30::text, $31::text, $32::bigint, $33::text, $34::bigint, $35::text, $36::text, $37::bigint, $38::bigint
FROM jsonb_array_elements($39::text::jsonb) AS made (value);

-- name: ListProfilesFromTo :many
SELECT id, version, workspace_id, name, os, browser_version, tags, tags_key, notes, search_key, proxy_id, proxy_missing,
    start_urls, timezone, locale, geolocation, webrtc, screen, headless, idle_timeout_ms, max_run_ms, status, last_run,
    last_started_at, disk_bytes, revision, created_at, updated_at, trashed_at, trashed, background_traffic, allow_local,
    consistency, fallback_proxy_ids, fallback_country, allow_hosts, deny_hosts, localhost_via, log_hosts, temporary, snapshots,
    head_id, snapshot_due, template_id, args, sources, extensions, passkeys, start_with_server, limits, freeze_after, node_id,
    placement
FROM profiles
WHERE id >= $1::text AND id <= $2::text AND trashed_at IS NULL
  AND ($3::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($3::text::json))))
ORDER BY id;

-- name: GetProfile :one
SELECT id, version, workspace_id, name, os, browser_version, tags, tags_key, notes, search_key, proxy_id, proxy_missing,
    start_urls, timezone, locale, geolocation, webrtc, screen, headless, idle_timeout_ms, max_run_ms, status, last_run,
    last_started_at, disk_bytes, revision, created_at, updated_at, trashed_at, trashed, background_traffic, allow_local,
    consistency, fallback_proxy_ids, fallback_country, allow_hosts, deny_hosts, localhost_via, log_hosts, temporary, snapshots,
    head_id, snapshot_due, template_id, args, sources, extensions, passkeys, start_with_server, limits, freeze_after, node_id,
    placement
FROM profiles
WHERE id = $1 AND trashed_at IS NULL
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: GetProfileAny :one
SELECT id, version, workspace_id, name, os, browser_version, tags, tags_key, notes, search_key, proxy_id, proxy_missing,
    start_urls, timezone, locale, geolocation, webrtc, screen, headless, idle_timeout_ms, max_run_ms, status, last_run,
    last_started_at, disk_bytes, revision, created_at, updated_at, trashed_at, trashed, background_traffic, allow_local,
    consistency, fallback_proxy_ids, fallback_country, allow_hosts, deny_hosts, localhost_via, log_hosts, temporary, snapshots,
    head_id, snapshot_due, template_id, args, sources, extensions, passkeys, start_with_server, limits, freeze_after, node_id,
    placement
FROM profiles
WHERE id = $1
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: UpdateProfile :one
UPDATE profiles SET
    name = $1, os = $2, browser_version = $3, tags = $4, tags_key = $5, notes = $6,
    search_key = $7, proxy_id = $8, proxy_missing = $9, start_urls = $10,
    timezone = $11, locale = $12, geolocation = $13, webrtc = $14, screen = $15,
    headless = $16, idle_timeout_ms = $17, max_run_ms = $18,
    background_traffic = $19, allow_local = $20, consistency = $21,
    fallback_proxy_ids = $22, fallback_country = $23, allow_hosts = $24, deny_hosts = $25,
    localhost_via = $26, log_hosts = $27, temporary = $28, snapshots = $29,
    args = $30, extensions = $31, passkeys = $32, start_with_server = $33, limits = $34, freeze_after = $35,
    placement = $36, sources = $37, updated_at = $38, revision = revision + 1
WHERE id = $39 AND revision = $40 AND trashed_at IS NULL
  AND ($41::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($41::text::json))))
RETURNING id, version, workspace_id, name, os, browser_version, tags, tags_key, notes, search_key, proxy_id, proxy_missing,
    start_urls, timezone, locale, geolocation, webrtc, screen, headless, idle_timeout_ms, max_run_ms, status, last_run,
    last_started_at, disk_bytes, revision, created_at, updated_at, trashed_at, trashed, background_traffic, allow_local,
    consistency, fallback_proxy_ids, fallback_country, allow_hosts, deny_hosts, localhost_via, log_hosts, temporary, snapshots,
    head_id, snapshot_due, template_id, args, sources, extensions, passkeys, start_with_server, limits, freeze_after, node_id,
    placement;

-- name: SetProfileStatus :execrows
UPDATE profiles SET
    status = $1,
    last_run = coalesce($2, last_run),
    last_started_at = coalesce($3, last_started_at),
    disk_bytes = coalesce($4, disk_bytes),
    snapshot_due = CASE WHEN $5::text IS NOT NULL AND coalesce(snapshots, $5) = 'on' AND temporary = 0 THEN 1
        ELSE snapshot_due END
WHERE id = $6 AND ($7::text = '' OR node_id IS NULL OR node_id = $7);

-- name: TrashProfile :one
UPDATE profiles SET trashed_at = $1::bigint
WHERE id = $2 AND trashed_at IS NULL
  AND ($3::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($3::text::json))))
RETURNING id, version, workspace_id, name, os, browser_version, tags, tags_key, notes, search_key, proxy_id, proxy_missing,
    start_urls, timezone, locale, geolocation, webrtc, screen, headless, idle_timeout_ms, max_run_ms, status, last_run,
    last_started_at, disk_bytes, revision, created_at, updated_at, trashed_at, trashed, background_traffic, allow_local,
    consistency, fallback_proxy_ids, fallback_country, allow_hosts, deny_hosts, localhost_via, log_hosts, temporary, snapshots,
    head_id, snapshot_due, template_id, args, sources, extensions, passkeys, start_with_server, limits, freeze_after, node_id,
    placement;

-- name: RestoreProfile :one
UPDATE profiles SET trashed_at = NULL
WHERE id = $1 AND trashed_at IS NOT NULL
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))))
RETURNING id, version, workspace_id, name, os, browser_version, tags, tags_key, notes, search_key, proxy_id, proxy_missing,
    start_urls, timezone, locale, geolocation, webrtc, screen, headless, idle_timeout_ms, max_run_ms, status, last_run,
    last_started_at, disk_bytes, revision, created_at, updated_at, trashed_at, trashed, background_traffic, allow_local,
    consistency, fallback_proxy_ids, fallback_country, allow_hosts, deny_hosts, localhost_via, log_hosts, temporary, snapshots,
    head_id, snapshot_due, template_id, args, sources, extensions, passkeys, start_with_server, limits, freeze_after, node_id,
    placement;

-- name: DeleteProfile :execrows
DELETE FROM profiles
WHERE id = $1
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: PurgeProfile :execrows
DELETE FROM profiles WHERE id = $1 AND trashed_at IS NOT NULL AND trashed_at < $2::bigint;

-- name: ListTrashedBefore :many
SELECT id, workspace_id, trashed_at FROM profiles
WHERE trashed_at IS NOT NULL AND trashed_at < $1::bigint
  AND (node_id IS NULL OR node_id = $2::text)
ORDER BY trashed_at, id
LIMIT $3::bigint;

-- name: ListProfilesNotStopped :many
SELECT id, version, workspace_id, name, os, browser_version, tags, tags_key, notes, search_key, proxy_id, proxy_missing,
    start_urls, timezone, locale, geolocation, webrtc, screen, headless, idle_timeout_ms, max_run_ms, status, last_run,
    last_started_at, disk_bytes, revision, created_at, updated_at, trashed_at, trashed, background_traffic, allow_local,
    consistency, fallback_proxy_ids, fallback_country, allow_hosts, deny_hosts, localhost_via, log_hosts, temporary, snapshots,
    head_id, snapshot_due, template_id, args, sources, extensions, passkeys, start_with_server, limits, freeze_after, node_id,
    placement
FROM profiles WHERE status <> 'stopped' ORDER BY status, id;

-- name: ResetStatus :execrows
UPDATE profiles SET status = $1
WHERE status <> 'stopped' AND status = $2 AND ($3::text = '' OR node_id IS NULL OR node_id = $3);

-- name: ListProfilesOfProxy :many
SELECT id FROM profiles
WHERE proxy_id = $1::text AND trashed_at IS NULL
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))))
ORDER BY id
LIMIT $3::bigint;

-- name: ListProfilesWithFallback :many
SELECT id FROM profiles
WHERE workspace_id = $1 AND fallback_proxy_ids <> '[]' AND trashed_at IS NULL
  AND EXISTS (SELECT 1 FROM json_array_elements_text(fallback_proxy_ids::json) AS own (value) WHERE own.value = $2::text)
  AND ($3::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($3::text::json))))
ORDER BY id
LIMIT $4::bigint;

-- name: ListProfilesWithExtension :many
SELECT id FROM profiles
WHERE workspace_id = $1 AND extensions <> '[]' AND trashed_at IS NULL
  AND EXISTS (SELECT 1 FROM json_array_elements(extensions::json) AS own (value) WHERE own.value ->> 'id' = $2::text)
  AND ($3::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($3::text::json))))
ORDER BY id
LIMIT $4::bigint;

-- name: GetProfiles :many
SELECT id, version, workspace_id, name, os, browser_version, tags, tags_key, notes, search_key, proxy_id, proxy_missing,
    start_urls, timezone, locale, geolocation, webrtc, screen, headless, idle_timeout_ms, max_run_ms, status, last_run,
    last_started_at, disk_bytes, revision, created_at, updated_at, trashed_at, trashed, background_traffic, allow_local,
    consistency, fallback_proxy_ids, fallback_country, allow_hosts, deny_hosts, localhost_via, log_hosts, temporary, snapshots,
    head_id, snapshot_due, template_id, args, sources, extensions, passkeys, start_with_server, limits, freeze_after, node_id,
    placement
FROM profiles
WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::text::json)))
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: ListNewestProfiles :many
SELECT id FROM profiles
WHERE workspace_id = $1 AND trashed = $2
  AND (created_at, id) < ($3::bigint, $4::text)
  AND ($5::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($5::text::json))))
ORDER BY created_at DESC, id DESC
LIMIT $7::bigint OFFSET $6;

-- name: ListIndexedProfiles :many
SELECT id, workspace_id, trashed, name, search_key, tags_key, status, proxy_id, proxy_missing, os, created_at, updated_at,
    last_started_at, node_id
FROM profiles WHERE id > $1::text ORDER BY id LIMIT $2::bigint;

-- name: GetIndexedProfiles :many
SELECT id, workspace_id, trashed, name, search_key, tags_key, status, proxy_id, proxy_missing, os, created_at, updated_at,
    last_started_at, node_id
FROM profiles WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::text::json)));

-- name: ListFallbacksOfProfiles :many
SELECT id, fallback_proxy_ids FROM profiles
WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::text::json))) AND fallback_proxy_ids <> '[]'
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: ListWorkspacesOfProfiles :many
SELECT id, workspace_id FROM profiles
WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::text::json))) AND trashed_at IS NULL
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))));

-- name: SetHead :execrows
UPDATE profiles SET head_id = $1, snapshot_due = 0 WHERE id = $2;

-- name: DropHead :execrows
UPDATE profiles SET head_id = NULL WHERE id = $1 AND head_id = $2::text;

-- name: ClearSnapshotDue :execrows
UPDATE profiles SET snapshot_due = 0 WHERE id = $1;

-- name: ListSnapshotsDue :many
SELECT id FROM profiles
WHERE snapshot_due = 1 AND trashed_at IS NULL AND (node_id IS NULL OR node_id = $1::text)
ORDER BY id LIMIT $2::bigint;

-- name: ListTemporaryEnded :many
SELECT id FROM profiles
WHERE temporary = 1 AND (status = 'stopped' OR status = 'failed') AND last_started_at > 0
  AND (node_id IS NULL OR node_id = $1::text)
LIMIT $2::bigint;

-- name: ListMissingHeads :many
SELECT id FROM profiles
WHERE head_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM snapshots WHERE snapshots.id = head_id)
LIMIT $1::bigint;

-- name: ListProfilesToStart :many
SELECT id, workspace_id, node_id, placement FROM profiles
WHERE start_with_server = 1 AND trashed_at IS NULL AND (node_id IS NULL OR node_id = $1::text)
ORDER BY created_at, id LIMIT $2::bigint;
