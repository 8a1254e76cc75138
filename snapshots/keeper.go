package snapshots

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"warren/archive"
	"warren/events"
	"warren/packs"
	"warren/problem"
	"warren/store"
)

// Keeper keeps the data of the profiles of one data folder.
type Keeper struct {
	data   string
	node   string // the id of the server, if it is or was one of those that share a database
	log    *slog.Logger
	store  *store.Store
	events *events.Log
	blobs  packs.Blobs

	saving     chan struct{} // one token per save: each uses a core
	importing  chan struct{} // one token per archive that is read: each uses a core
	deriving   archive.Turns
	untouched  time.Duration // how long a pack or a tree stays that no snapshot names
	going      time.Duration // how long a pack stays that was chosen to go
	collecting sync.RWMutex  // held for reading while a pack is announced and written, for writing while one is deleted

	// room is roomAt, but in tests.
	room func(dir string) (free, total uint64, known bool)
}

// New makes a keeper for the data folder, whose snapshots it keeps in the folder snapshots. The folder has the server's id already
// (package nodes). An id that cannot be read counts as none: then the packs of servers with an id stay.
func New(data string, log *slog.Logger, st *store.Store, ev *events.Log) *Keeper {
	node, _ := nodeOf(data) //nolint:errcheck // as above
	return &Keeper{data: data, node: node, log: log, store: st, events: ev, blobs: packs.Folder(filepath.Join(data, "snapshots")),
		room: roomAt, untouched: untouched, going: going,
		saving: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)), importing: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		deriving: make(archive.Turns, 1)}
}

// profileDir is the folder of a profile, which has its data, and what is in no snapshot.
func (k *Keeper) profileDir(id string) string { return filepath.Join(k.data, "profiles", id) }

// stampsFile says which snapshot the folder equalled. A load removes it, and no snapshot has it.
func (k *Keeper) stampsFile(id string) string { return filepath.Join(k.profileDir(id), "stamps.json") }

// vault opens the packs of a workspace for one operation. The blobs note which packs it wrote.
func (k *Keeper) vault(ctx context.Context, workspace string) (*packs.Vault, *announcing, error) {
	secret, err := k.secret(ctx, workspace)
	if err != nil {
		return nil, nil, err
	}
	b := &announcing{Blobs: k.blobs, k: k, workspace: workspace}
	v, err := packs.NewVault(b, secret)
	if err == nil && k.node != "" {
		v, err = v.By(k.node)
	}
	return v, b, err
}

// secret returns the secret of a workspace's packs. The first call makes it.
func (k *Keeper) secret(ctx context.Context, workspace string) ([]byte, error) {
	sealed, err := k.store.Read().GetPackSecret(ctx, workspace)
	if err == nil && sealed == nil {
		sealed, err = k.makeSecret(ctx, workspace)
	}
	if err != nil {
		return nil, err
	}
	return k.store.Unseal("workspaces", "pack_secret", workspace, sealed)
}

// makeSecret stores a new secret, unless another one was stored meanwhile.
func (k *Keeper) makeSecret(ctx context.Context, workspace string) (sealed []byte, err error) {
	fresh := make([]byte, packs.SecretSize)
	rand.Read(fresh) // never fails (crypto/rand)
	own, err := k.store.Seal("workspaces", "pack_secret", workspace, fresh)
	if err != nil {
		return nil, err
	}
	err = k.store.Write(ctx, func(q *store.Queries) (err error) {
		if _, err := q.SetPackSecret(ctx, store.SetPackSecretParams{ID: workspace, PackSecret: own}); err != nil {
			return err
		}
		sealed, err = q.GetPackSecret(ctx, workspace)
		return err
	})
	return sealed, err
}

// subject is what a snapshot's tree is sealed for.
func subject(workspace, profile, id string) packs.Subject {
	return packs.Subject{ID: id, Owner: workspace + "|" + profile}
}

// tree reads the tree of a snapshot.
func (k *Keeper) tree(ctx context.Context, v *packs.Vault, s store.Snapshot) (*packs.Tree, error) {
	return v.Tree(ctx, subject(s.WorkspaceID, s.ProfileID, s.ID))
}

// announcing are blobs that write a pack's row before its object, so that the collection knows every pack.
type announcing struct {
	packs.Blobs
	k         *Keeper
	workspace string
	wrote     []string // names of packs
}

// Put implements packs.Blobs.
func (a *announcing) Put(ctx context.Context, name string, size int64, body io.Reader) error {
	path, isPack := strings.CutPrefix(name, packs.PackPrefix)
	if !isPack {
		return a.Blobs.Put(ctx, name, size, body)
	}
	pack := path[strings.LastIndexByte(path, '/')+1:]
	a.k.collecting.RLock()
	defer a.k.collecting.RUnlock()
	err := a.k.store.Write(ctx, func(q *store.Queries) error {
		return q.AnnouncePack(ctx, store.AnnouncePackParams{Name: pack, WorkspaceID: a.workspace, Bytes: size, Now: now(),
			NodeID: a.k.node})
	})
	if err != nil {
		return err
	}
	a.wrote = append(a.wrote, pack)
	return a.Blobs.Put(ctx, name, size, body)
}

// List returns a profile's snapshots, newest first.
func (k *Keeper) List(ctx context.Context, sees store.Scope, profileID string) ([]store.Snapshot, error) {
	return k.store.Read().ListSnapshots(ctx, store.ListSnapshotsParams{ProfileID: profileID, Workspaces: sees.Filter()})
}

// Get returns a snapshot of a profile.
func (k *Keeper) Get(ctx context.Context, sees store.Scope, profileID, id string) (store.Snapshot, error) {
	s, err := k.store.Read().GetSnapshot(ctx, store.GetSnapshotParams{ID: id, ProfileID: profileID, Workspaces: sees.Filter()})
	if errors.Is(err, store.ErrNoRow) {
		return s, problem.Missing("snapshot")
	}
	return s, err
}

// Event is the data of snapshot.created, snapshot.updated and snapshot.deleted.
type Event struct {
	ID        string `json:"id"` // of the snapshot
	ProfileID string `json:"profileId"`
	Reason    string `json:"reason"`
}

func (k *Keeper) publish(kind string, s store.Snapshot) {
	k.events.Publish(events.Event{Type: "snapshot." + kind, Workspace: s.WorkspaceID, Data: Event{s.ID, s.ProfileID, s.Reason}})
}

func now() int64 { return time.Now().UnixMilli() }
