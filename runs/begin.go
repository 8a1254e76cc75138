package runs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"warren/shim"
	"warren/state"
	"warren/store"
)

// Makes profiles that begin with data from elsewhere. Their folders are written aside first, under the name that a deletion uses. So a
// crash before the rows are there leaves what the next start of the server removes, and one after it what that start puts in place.

// Beginning is what a new profile begins with.
type Beginning struct {
	ID, Workspace string
	Cookies       []state.Cookie // set at the first start before any page loads
	Folder        string         // of the browser's data, which is moved; "": none
}

// beginAtOnce is how many folders are written at a time. Each waits for the disk.
const beginAtOnce = 16

// Begin makes profiles whose rows insert writes in one transaction. All of them are there afterwards with their data, or none. Their
// workspaces must have a secret.
func (m *Manager) Begin(ctx context.Context, all []Beginning, insert func(*store.Queries) error) error {
	for _, b := range all {
		release, _, err := m.tryHold(b.ID) // so that the sweep lets the folder alone
		if err != nil {
			return err
		}
		if release == nil {
			return StillRunning()
		}
		defer release()
	}
	err := m.writeAside(ctx, all)
	if err == nil {
		err = m.store.Write(ctx, func(q *store.Queries) error {
			if err := insert(q); err != nil {
				return err
			}
			return m.placeAll(ctx, q, all)
		})
	}
	for _, b := range all {
		aside := m.asideOf(b.ID)
		if err != nil {
			if failed := os.RemoveAll(aside); failed != nil {
				m.log.Warn("what an import has left stays until the next start", "cause", failed)
			}
			continue
		}
		if failed := restoreFolder(aside, m.profileDir(b.ID)); failed != nil && !errors.Is(failed, fs.ErrNotExist) {
			m.log.Warn("a profile's data are put in place at its start", "profile", b.ID, "cause", failed)
		}
	}
	return err
}

// placeAll records that this server has the data of new profiles.
func (m *Manager) placeAll(ctx context.Context, q *store.Queries, all []Beginning) error {
	for _, b := range all {
		if len(b.Cookies) == 0 && b.Folder == "" {
			continue
		}
		if _, err := m.placeIn(ctx, q, b.ID); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manager) asideOf(id string) string {
	return filepath.Join(m.cfg.Data, "profiles", erasedPrefix+id)
}

// writeAside writes the folders of profiles that have data.
func (m *Manager) writeAside(ctx context.Context, all []Beginning) error {
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(beginAtOnce)
	for _, b := range all {
		if len(b.Cookies) == 0 && b.Folder == "" {
			continue
		}
		work.Go(func() error { return m.writeOne(ctx, b) })
	}
	return m.snapshots.ProblemOf(work.Wait())
}

func (m *Manager) writeOne(ctx context.Context, b Beginning) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	aside := m.asideOf(b.ID)
	if err := os.MkdirAll(aside, 0o700); err != nil {
		return err
	}
	if b.Folder != "" {
		if err := os.Rename(b.Folder, filepath.Join(aside, "chrome")); err != nil {
			return err
		}
	}
	if len(b.Cookies) == 0 {
		return nil
	}
	key, err := m.snapshots.CookieKey(ctx, b.Workspace, b.ID, shim.CookieKeySize)
	if err != nil {
		return err
	}
	return shim.PendCookies(aside, b.ID, key, b.Cookies)
}
