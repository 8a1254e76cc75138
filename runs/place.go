package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"warren/pool"
	"warren/problem"
	"warren/store"
)

// Says which of the servers that share a database has a profile's data.

// IsElsewhere reports whether another server has a profile's data.
func (m *Manager) IsElsewhere(row store.Profile) bool {
	return m.cfg.Node != "" && row.NodeID != nil && *row.NodeID != m.cfg.Node
}

// Place gives a profile without data to this server, unless another one has it meanwhile. It returns the id of the one that has it.
func (m *Manager) Place(ctx context.Context, row store.Profile) (at string, err error) {
	if m.cfg.Node == "" {
		return "", nil
	}
	if row.NodeID != nil {
		return *row.NodeID, nil
	}
	err = m.store.Write(ctx, func(q *store.Queries) (err error) {
		at, err = m.placeIn(ctx, q, row.ID)
		return err
	})
	return at, err
}

// place is Place for what needs the data here. It fails for a profile whose data another server has.
func (m *Manager) place(ctx context.Context, row store.Profile) error {
	at, err := m.Place(ctx, row)
	if err != nil || at == m.cfg.Node {
		return err
	}
	return m.Unreachable(ctx, at)
}

// Unreachable returns the error for a profile whose data another server has, which is named by its id.
func (m *Manager) Unreachable(ctx context.Context, at string) error {
	node, err := m.store.Read().GetNode(ctx, at)
	if err != nil && !errors.Is(err, store.ErrNoRow) {
		return err
	}
	now, err := m.store.Read().DatabaseTime(ctx)
	if err != nil {
		return err
	}
	return NodeUnreachable(at, node, time.Duration(now-node.BeatAt)*time.Millisecond)
}

// GivenUp is the error of a start on a server whose data of the profile were given up meanwhile, so that another server has the profile.
func GivenUp() *problem.Error {
	return problem.New(problem.Conflict, "node_unreachable", "The data that this server has of the profile were given up meanwhile, and "+
		"another server has it. Start it again.")
}

// placeIn records it in a transaction, and returns the server that has the data.
func (m *Manager) placeIn(ctx context.Context, q *store.Queries, id string) (at string, err error) {
	if m.cfg.Node == "" {
		return "", nil
	}
	placed, err := q.PlaceProfile(ctx, store.PlaceProfileParams{ID: id, NodeID: m.cfg.Node})
	if err != nil || placed > 0 {
		return m.cfg.Node, err
	}
	row, err := q.GetProfileAny(ctx, store.GetProfileAnyParams{ID: id})
	if errors.Is(err, store.ErrNoRow) {
		return "", problem.Missing("profile")
	}
	if err != nil || row.NodeID == nil {
		return "", err
	}
	return *row.NodeID, nil
}

// claimAtOnce is how many profiles a statement gives to this server.
const claimAtOnce = 10_000

// claimData gives this server the profiles that no server has and whose folders or snapshots lie here. So a database that was copied from
// this data folder's own knows where its profiles are, before another server starts one without its data.
func (m *Manager) claimData(ctx context.Context) error {
	if m.cfg.Node == "" {
		return nil
	}
	folders, err := os.ReadDir(filepath.Join(m.cfg.Data, "profiles"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folders of profiles: %w", err)
	}
	ids, err := m.snapshots.Unplaced(ctx)
	if err != nil {
		return fmt.Errorf("the snapshots of profiles that no server has: %w", err)
	}
	for _, folder := range folders {
		ids = append(ids, folder.Name())
	}
	for part := range slices.Chunk(ids, claimAtOnce) {
		text, err := json.Marshal(part)
		if err != nil {
			return err
		}
		var claimed int64
		err = m.store.Write(ctx, func(q *store.Queries) (err error) {
			claimed, err = q.PlaceProfiles(ctx, store.PlaceProfilesParams{NodeID: m.cfg.Node, Ids: string(text)})
			return err
		})
		if err != nil {
			return err
		}
		if claimed > 0 {
			m.log.Info("profiles whose data lie here belong to this server now", "profiles", claimed)
		}
	}
	return nil
}

// MaxPlaces is how many servers are asked to take a profile that none has yet.
const MaxPlaces = 3

// RefusedBefore reports whether a server has refused a start before anything began, so that another one may take the profile.
func RefusedBefore(err error) bool {
	return slices.ContainsFunc([]string{"node_unreachable", "node_draining", "node_conflict", pool.Stopping().Code},
		func(code string) bool { return problem.HasCode(err, code) })
}

// NodeUnreachable is the error of a request about a profile whose data another server has that does not answer, and when that was seen. A
// row without an id is of a server that was removed.
func NodeUnreachable(id string, row store.Node, seen time.Duration) *problem.Error {
	text := "The profile's data are on the server with the id " + id + ", which is not in this database. Start that server again. If it " +
		"is gone for good, `warren node remove " + id + " --forget` gives its data up."
	if row.ID != "" {
		text = fmt.Sprintf("The profile's data are on the server %s at %s, which does not answer; its beat was last seen %s ago. Start it "+
			"again. If it is gone for good, `warren node remove %s --forget` gives its data up.", row.Name, row.Address,
			seen.Round(time.Second), id)
	}
	return problem.New(problem.Conflict, "node_unreachable", text)
}
