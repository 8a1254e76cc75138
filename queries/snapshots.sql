-- Snapshots of profiles' data, and the packs that hold their content.

-- name: InsertSnapshot :exec
INSERT INTO snapshots (id, profile_id, workspace_id, parent, reason, name, pinned, browser, bytes, new_bytes, created_at)
VALUES (@id, @profile_id, @workspace_id, sqlc.narg(parent), @reason, @name, @pinned, @browser, @bytes, @new_bytes, @created_at);

-- name: GetSnapshot :one
SELECT * FROM snapshots
WHERE id = @id AND profile_id = @profile_id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ListSnapshots :many
-- ListSnapshots returns a profile's snapshots, newest first.
SELECT * FROM snapshots
WHERE profile_id = @profile_id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
ORDER BY created_at DESC, id DESC;

-- name: UpdateSnapshot :one
-- UpdateSnapshot changes what a person says of a snapshot. NULL keeps a column.
UPDATE snapshots SET name = coalesce(sqlc.narg(name), name), pinned = coalesce(CAST(sqlc.narg(pinned) AS BOOLEAN), pinned)
WHERE id = @id AND profile_id = @profile_id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))))
RETURNING *;

-- name: DeleteSnapshot :execrows
DELETE FROM snapshots
WHERE id = @id AND profile_id = @profile_id
  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN (SELECT value FROM json_each(sqlc.narg(workspaces))));

-- name: ListSnapshotIDs :many
-- ListSnapshotIDs returns those ids of a JSON array that are snapshots.
SELECT id FROM snapshots WHERE id IN (SELECT value FROM json_each(CAST(@ids AS TEXT)));

-- name: AnnouncePack :exec
-- AnnouncePack is called before a pack is written. One that was about to go stays.
INSERT INTO packs (name, workspace_id, bytes, state, seen_at, node_id)
VALUES (@name, @workspace_id, @bytes, 'pending', @now, @node_id)
ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at, node_id = excluded.node_id,
    state = CASE state WHEN 'going' THEN 'pending' ELSE state END;

-- name: KeepPacks :execrows
-- KeepPacks returns how many packs of a JSON array are there to be named by a snapshot of a server. One that says no server is its own.
UPDATE packs SET state = 'there', seen_at = @now, node_id = @node_id
WHERE name IN (SELECT value FROM json_each(CAST(@names AS TEXT))) AND state <> 'going' AND node_id IN ('', @node_id);

-- name: AddSnapshotPacks :exec
INSERT INTO snapshot_packs (snapshot_id, pack) SELECT CAST(@snapshot_id AS TEXT), value FROM json_each(CAST(@names AS TEXT));

-- name: LetPacksGo :execrows
-- LetPacksGo chooses the packs to delete: those of a server that no snapshot names and that nobody has touched since @before. So are
-- those of servers without a row, which nobody else would choose.
UPDATE packs SET state = 'going', seen_at = @now
WHERE seen_at < @before AND state <> 'going' AND NOT EXISTS (SELECT 1 FROM snapshot_packs WHERE pack = packs.name)
  AND (node_id = @node_id OR NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.id = packs.node_id));

-- name: LetPendingGo :execrows
-- LetPendingGo does the same at once with those of a JSON array that no snapshot ever named: what a save left that failed.
UPDATE packs SET state = 'going', seen_at = @now
WHERE name IN (SELECT value FROM json_each(CAST(@names AS TEXT))) AND state = 'pending' AND node_id = @node_id
  AND NOT EXISTS (SELECT 1 FROM snapshot_packs WHERE pack = name);

-- name: ListPacksGoing :many
-- ListPacksGoing returns the packs that were chosen before @before, of a server and of those without a row.
SELECT name FROM packs
WHERE seen_at < @before AND state = 'going' AND NOT EXISTS (SELECT 1 FROM snapshot_packs WHERE pack = packs.name)
  AND (node_id = @node_id OR NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.id = packs.node_id))
ORDER BY seen_at LIMIT CAST(@limit AS INTEGER);

-- name: GetPack :one
SELECT * FROM packs WHERE name = @name;

-- name: ForgetPack :execrows
-- ForgetPack removes the row of a pack whose object is deleted, unless it is wanted again.
DELETE FROM packs
WHERE name = @name AND state = 'going' AND NOT EXISTS (SELECT 1 FROM snapshot_packs WHERE pack = packs.name);

-- name: ListPackNames :many
-- ListPackNames returns those names of a JSON array that are packs. For a server with an id, one that says no server is none yet.
SELECT name FROM packs
WHERE name IN (SELECT value FROM json_each(CAST(@names AS TEXT))) AND (node_id <> '' OR CAST(@node_id AS TEXT) = '');

-- name: ListSnapshotsAfter :many
-- ListSnapshotsAfter walks through all snapshots, in the order of their ids.
SELECT * FROM snapshots WHERE id > CAST(@after AS TEXT) ORDER BY id LIMIT CAST(@limit AS INTEGER);

-- name: ListUnplacedSnapshots :many
-- ListUnplacedSnapshots walks through the snapshots of profiles that no server has, in the order of their ids.
SELECT snapshots.id, snapshots.profile_id FROM snapshots JOIN profiles ON profiles.id = snapshots.profile_id
WHERE snapshots.id > CAST(@after AS TEXT) AND profiles.node_id IS NULL ORDER BY snapshots.id LIMIT CAST(@limit AS INTEGER);

-- name: ListNeededPacks :many
-- ListNeededPacks walks through the packs that snapshots name, in the order of their names.
SELECT name, bytes FROM packs
WHERE name > CAST(@after AS TEXT) AND EXISTS (SELECT 1 FROM snapshot_packs WHERE pack = packs.name)
ORDER BY name LIMIT CAST(@limit AS INTEGER);

-- name: ListPacksOfSnapshot :many
SELECT pack FROM snapshot_packs WHERE snapshot_id = @snapshot_id ORDER BY pack;
