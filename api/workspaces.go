package api

import (
	"context"
	"sync"

	"warren/store"
)

// workspaces remembers which workspaces exist, so that a create has no statement for its workspace: that is a tenth of its
// writing. No operation deletes a workspace; one that does must forget it here. A workspace that is gone all the same
// fails one create, on its foreign key.
type workspaces struct{ known sync.Map } // ids

// ensure makes a workspace in a transaction unless it is known to exist.
func (w *workspaces) ensure(ctx context.Context, q *store.Queries, id string, at int64) error {
	if _, there := w.known.Load(id); there {
		return nil
	}
	return store.ErrorOf(q.EnsureWorkspace(ctx, store.EnsureWorkspaceParams{ID: id, Now: at}))
}

// wrote records whether a transaction with ensure is on disk.
func (w *workspaces) wrote(id string, err error) {
	if err != nil {
		w.known.Delete(id)
		return
	}
	w.known.LoadOrStore(id, struct{}{})
}
