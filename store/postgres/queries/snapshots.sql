-- name: InsertSnapshot :exec
INSERT INTO snapshots (id, profile_id, workspace_id, parent, reason, name, pinned, browser, bytes, new_bytes, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- name: GetSnapshot :one
SELECT id, profile_id, workspace_id, parent, reason, name, pinned, browser, bytes, new_bytes, created_at FROM snapshots
WHERE id = $1 AND profile_id = $2
  AND ($3::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($3::text::json))));

-- name: ListSnapshots :many
SELECT id, profile_id, workspace_id, parent, reason, name, pinned, browser, bytes, new_bytes, created_at FROM snapshots
WHERE profile_id = $1
  AND ($2::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))))
ORDER BY created_at DESC, id DESC;

-- name: UpdateSnapshot :one
UPDATE snapshots SET name = coalesce($1, name), pinned = coalesce($2::bigint, pinned)
WHERE id = $3 AND profile_id = $4
  AND ($5::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($5::text::json))))
RETURNING id, profile_id, workspace_id, parent, reason, name, pinned, browser, bytes, new_bytes, created_at;

-- name: DeleteSnapshot :execrows
DELETE FROM snapshots
WHERE id = $1 AND profile_id = $2
  AND ($3::text IS NULL OR workspace_id = ANY (ARRAY(SELECT json_array_elements_text($3::text::json))));

-- name: ListSnapshotIDs :many
SELECT id FROM snapshots WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::text::json)));

-- name: AnnouncePack :exec
INSERT INTO packs (name, workspace_id, bytes, state, seen_at, node_id) VALUES ($1, $2, $3, 'pending', $4, $5)
ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at, node_id = excluded.node_id,
    state = CASE packs.state WHEN 'going' THEN 'pending' ELSE packs.state END;

-- name: KeepPacks :execrows
UPDATE packs SET state = 'there', seen_at = $1, node_id = $2
WHERE name = ANY (ARRAY(SELECT json_array_elements_text($3::text::json))) AND state <> 'going' AND node_id IN ('', $2);

-- name: AddSnapshotPacks :exec
INSERT INTO snapshot_packs (snapshot_id, pack) SELECT $1::text, json_array_elements_text($2::text::json);

-- name: LetPacksGo :execrows
UPDATE packs SET state = 'going', seen_at = $1
WHERE seen_at < $2 AND state <> 'going' AND NOT EXISTS (SELECT 1 FROM snapshot_packs WHERE pack = packs.name)
  AND (node_id = $3 OR NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.id = packs.node_id));

-- name: LetPendingGo :execrows
UPDATE packs SET state = 'going', seen_at = $1
WHERE name = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))) AND state = 'pending'
  AND node_id = $3 AND NOT EXISTS (SELECT 1 FROM snapshot_packs WHERE pack = name);

-- name: ListPacksGoing :many
SELECT name FROM packs
WHERE seen_at < $1 AND state = 'going' AND NOT EXISTS (SELECT 1 FROM snapshot_packs WHERE pack = packs.name)
  AND (node_id = $2 OR NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.id = packs.node_id))
ORDER BY seen_at LIMIT $3::bigint;

-- name: GetPack :one
SELECT name, workspace_id, bytes, state, seen_at, node_id FROM packs WHERE name = $1;

-- name: ForgetPack :execrows
DELETE FROM packs
WHERE name = $1 AND state = 'going' AND NOT EXISTS (SELECT 1 FROM snapshot_packs WHERE pack = packs.name);

-- name: ListPackNames :many
SELECT name FROM packs
WHERE name = ANY (ARRAY(SELECT json_array_elements_text($1::text::json))) AND (node_id <> '' OR $2::text = '');

-- name: ListSnapshotsAfter :many
SELECT id, profile_id, workspace_id, parent, reason, name, pinned, browser, bytes, new_bytes, created_at
FROM snapshots WHERE id > $1::text ORDER BY id LIMIT $2::bigint;

-- name: ListUnplacedSnapshots :many
SELECT snapshots.id, snapshots.profile_id FROM snapshots JOIN profiles ON profiles.id = snapshots.profile_id
WHERE snapshots.id > $1::text AND profiles.node_id IS NULL ORDER BY snapshots.id LIMIT $2::bigint;

-- name: ListNeededPacks :many
SELECT name, bytes FROM packs
WHERE name > $1::text AND EXISTS (SELECT 1 FROM snapshot_packs WHERE pack = packs.name)
ORDER BY name LIMIT $2::bigint;

-- name: ListPacksOfSnapshot :many
SELECT pack FROM snapshot_packs WHERE snapshot_id = $1 ORDER BY pack;
