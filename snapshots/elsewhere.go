package snapshots

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"

	"warren/packs"
	"warren/store"
)

// Several servers can share a PostgreSQL database, and each has the objects of its own profiles' snapshots. A backup of one of them, and
// the data folder that is made of it, has the whole database and these objects.

// nodeName is the file of a data folder with the id of its server among those that share a database.
const nodeName = "node.json"

// nodeOf returns that id; "": the server has never shared a database.
func nodeOf(data string) (string, error) {
	text, err := os.ReadFile(filepath.Join(data, nodeName))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var kept struct {
		ID string `json:"id"`
	}
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		return "", fmt.Errorf("the server's id in %s cannot be read; restore the file: %w", nodeName, err)
	}
	return kept.ID, nil
}

// held is a set of the names of trees, packs and packages; nil: all that the database names.
type held map[string]bool

func (h held) has(name string) bool { return h == nil || h[name] }

func (h held) add(name string) {
	if h != nil {
		h[name] = true
	}
}

// holds returns what of its database's objects a backup holds.
func (b *Backup) holds(ctx context.Context, from packs.Blobs) (held, error) {
	if b.Elsewhere == 0 {
		return nil, nil
	}
	names, err := b.names(ctx, from)
	own := held{}
	for _, name := range names {
		own.add(name)
	}
	return own, err
}

// ownObjects returns the trees and packs of the snapshots whose data the server node has, and how many snapshots other servers have. here
// are the objects of its data folder: they decide for profiles of which the database knows no server.
func ownObjects(ctx context.Context, st *store.Store, node string, here packs.Blobs) (own held, elsewhere int64, err error) {
	if node == "" {
		return nil, 0, nil
	}
	others, unplaced, err := placesOfSnapshots(ctx, st, node)
	if err != nil || len(others) == 0 { // the server has all of them, unless they are lost
		return nil, 0, err
	}
	for o, err := range here.List(ctx, packs.TreePrefix) {
		if err != nil {
			return nil, 0, err
		}
		delete(unplaced, o.Name)
	}
	own = held{}
	err = eachSnapshot(ctx, st, func(s store.Snapshot) error {
		tree := packs.TreePrefix + s.ID
		if others[tree] || unplaced[tree] {
			elsewhere++
			return nil
		}
		own[tree] = true
		names, err := st.Read().ListPacksOfSnapshot(ctx, s.ID)
		for _, name := range names {
			own[packs.PackName(name)] = true
		}
		return err
	})
	return own, elsewhere, err
}

// placesOfSnapshots returns the trees of profiles whose data other servers than node have, and of those that have no server.
func placesOfSnapshots(ctx context.Context, st *store.Store, node string) (others, unplaced held, err error) {
	others, unplaced = held{}, held{}
	at := map[string]*string{} // by profile
	err = eachSnapshot(ctx, st, func(s store.Snapshot) error {
		id, known := at[s.ProfileID]
		if !known {
			row, err := st.Read().GetProfileAny(ctx, store.GetProfileAnyParams{ID: s.ProfileID})
			if err != nil {
				return err
			}
			id = row.NodeID
			at[s.ProfileID] = id
		}
		switch {
		case id == nil:
			unplaced[packs.TreePrefix+s.ID] = true
		case *id != node:
			others[packs.TreePrefix+s.ID] = true
		}
		return nil
	})
	return others, unplaced, err
}

// Unplaced returns the ids of the profiles that no server has and of which a snapshot lies here. Its packs are here too: a tree is written
// after them.
func (k *Keeper) Unplaced(ctx context.Context) ([]string, error) {
	profileOf := map[string]string{} // by the name of a tree
	for after := ""; ; {
		rows, err := k.store.Read().ListUnplacedSnapshots(ctx, store.ListUnplacedSnapshotsParams{After: after, Limit: walkAtOnce})
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			profileOf[packs.TreePrefix+row.ID] = row.ProfileID
		}
		if len(rows) < walkAtOnce {
			break
		}
		after = rows[len(rows)-1].ID
	}
	if len(profileOf) == 0 { // as at every start but the first one of a copied database: then nothing is listed
		return nil, nil
	}
	here := map[string]bool{}
	for o, err := range k.blobs.List(ctx, packs.TreePrefix) {
		if err != nil {
			return nil, err
		}
		if id, unplaced := profileOf[o.Name]; unplaced {
			here[id] = true
		}
	}
	return slices.Sorted(maps.Keys(here)), nil
}
