package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"warren/events"
	"warren/problem"
	"warren/store"
)

// Removes profiles for good: their rows and their folders.

// erase removes a profile that nobody can start, if check agrees in the transaction that does it.
func (rs *runs) erase(ctx context.Context, sees store.Scope, id string, check func(*store.Queries) error) error {
	return rs.removeProfile(ctx, id, func(q *store.Queries) error {
		if err := check(q); err != nil {
			return err
		}
		n, err := q.DeleteProfile(ctx, store.DeleteProfileParams{ID: id, Workspaces: sees.Filter()})
		if err == nil && n == 0 {
			return problem.Missing("profile")
		}
		return err
	})
}

// removeProfile deletes a profile's row and its folder, while nothing can start it. The folder is set aside first: should the write fail
// it comes back, and should the machine stop in between, the next serve removes only what bears the mark.
func (rs *runs) removeProfile(ctx context.Context, id string, write func(*store.Queries) error) error {
	dir, aside := rs.profileDir(id), filepath.Join(rs.cfg.Data, "profiles", erasedPrefix+id)
	err := os.Rename(dir, aside)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the profile's folder cannot be removed: %w", err)
	}
	moved := err == nil
	if err := rs.store.Write(ctx, write); err != nil {
		if moved {
			err = errors.Join(err, os.Rename(aside, dir))
		}
		return err
	}
	if err := os.RemoveAll(aside); err != nil {
		rs.log.Warn("a removed profile's folder stays until the next serve", "folder", aside, "cause", err)
	}
	return nil
}

// erasedPrefix marks a folder whose profile is gone.
const erasedPrefix = ".erased-"

// tidyErased sees to the folders that were set aside to be removed: of a profile that is still there the folder comes back, since its deletion
// was never written.
func (rs *runs) tidyErased(ctx context.Context) error {
	dir := filepath.Join(rs.cfg.Data, "profiles")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		id, aside := strings.CutPrefix(e.Name(), erasedPrefix)
		if !aside {
			continue
		}
		switch _, err := rs.store.Read().GetProfileAny(ctx, store.GetProfileAnyParams{ID: id}); {
		case errors.Is(err, store.ErrNoRow):
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				rs.log.Warn("a removed profile's folder stays", "cause", err)
			}
		case err != nil:
			return err
		default:
			if err := putBack(filepath.Join(dir, e.Name()), rs.profileDir(id)); err != nil {
				rs.log.Error("a profile's folder was set aside for a deletion that was never written, and cannot be put back", "profile", id, "folder", e.Name(), "cause", err)
			}
		}
	}
	return nil
}

// putBack moves a folder to its place, where nothing may be.
func putBack(aside, dir string) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(err, fs.ErrExist)
	}
	return os.Rename(aside, dir)
}

// clockWatch notices that the machine's clock was set anew, by more than sleeping for a night explains.
type clockWatch struct {
	last  time.Time // when it was looked at
	until time.Time // it is not believed before
}

// steady says whether the clock may decide what is deleted for good. After a step of more than a day it may not for a day: a machine without a battery for its
// clock begins months behind, and what was put into the trash before the clock was set looks old at once.
func (c *clockWatch) steady(now time.Time) bool {
	const day = 24 * time.Hour
	now = now.Round(0) // as the wall has it
	if !c.last.IsZero() && now.Sub(c.last).Abs() > day {
		c.until = now.Add(day)
	}
	c.last = now
	return !now.Before(c.until)
}

// emptyTrash removes what lies in the trash since before (milliseconds since 1970). What is taken out of it in the meantime stays.
func (rs *runs) emptyTrash(ctx context.Context, before int64) error {
	rows, err := rs.store.Read().ListTrashedBefore(ctx, store.ListTrashedBeforeParams{Before: before, Limit: 100})
	if err != nil {
		return err
	}
	for _, row := range rows {
		if ctx.Err() != nil {
			return nil // the server stops; the rest has time
		}
		if err := rs.purge(ctx, row, before); err != nil {
			return err
		}
	}
	return nil
}

// purge removes a profile that is in the trash since before.
func (rs *runs) purge(ctx context.Context, row store.ListTrashedBeforeRow, before int64) error {
	release := rs.hold(row.ID) // nothing starts it while its folder is set aside
	if release == nil {
		return nil
	}
	defer release()
	restored := errors.New("restored")
	err := rs.removeProfile(ctx, row.ID, func(q *store.Queries) error {
		n, err := q.PurgeProfile(ctx, store.PurgeProfileParams{ID: row.ID, Before: before})
		if err == nil && n == 0 {
			return restored
		}
		return err
	})
	if errors.Is(err, restored) {
		return nil
	}
	if err == nil {
		rs.events.Publish(events.Event{Type: "profile.deleted", Workspace: row.WorkspaceID, Data: map[string]any{"id": row.ID, "permanent": true}})
	}
	return err
}

// sweep does what is due now and then: it writes ends that are owed and traffic, and where the clock is steady it empties the trash of what lay there
// long enough.
func (rs *runs) sweep(ctx context.Context, steady bool) error {
	rs.payOwed("")
	rs.noteAllTraffic(ctx, func(*profileRun) bool { return true })
	if !steady {
		return nil
	}
	return errors.Join(rs.purgeTraffic(ctx), rs.emptyTrash(ctx, time.Now().AddDate(0, 0, -rs.cfg.TrashDays).UnixMilli()))
}
