package runs

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
	"warren/snapshots"
	"warren/store"
)

// Removes profiles for good: their rows and their folders.

// Erase removes a profile for good. It must not be able to start. check runs in the same transaction and may refuse.
func (m *Manager) Erase(ctx context.Context, sees store.Scope, id string, check func(*store.Queries) error) error {
	return m.removeProfile(ctx, id, func(q *store.Queries) error {
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

// removeProfile deletes a profile's row and folder. The profile must not be able to start. The folder is renamed first,
// and renamed back if the write fails. After a crash, RecoverDeletions finishes or undoes it.
func (m *Manager) removeProfile(ctx context.Context, id string, write func(*store.Queries) error) error {
	if err := m.snapshots.Settle(id); err != nil {
		return fmt.Errorf("the profile's folder cannot be removed: %w", err)
	}
	dir, aside := m.profileDir(id), filepath.Join(m.cfg.Data, "profiles", erasedPrefix+id)
	err := os.Rename(dir, aside)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the profile's folder cannot be removed: %w", err)
	}
	moved := err == nil
	if !moved {
		_, gone := os.Lstat(aside) // an earlier deletion failed, and could not put it back
		moved = gone == nil
	}
	err = nil
	if moved { // else a power loss might undo the rename but not the write, and leave a folder that no profile has
		err = store.SyncFolder(filepath.Dir(dir))
	}
	if err == nil {
		err = m.store.Write(ctx, write)
	}
	if err != nil {
		if moved {
			err = errors.Join(err, os.Rename(aside, dir))
		}
		return err
	}
	if err := os.RemoveAll(aside); err != nil {
		m.log.Warn("a removed profile's folder stays for a while", "folder", aside, "cause", err)
	}
	return nil
}

// erasedPrefix marks the folder of a deleted profile.
const erasedPrefix = snapshots.ErasedPrefix

// leakTestPrefix begins what follows it for the folder of a leak test.
const leakTestPrefix = "leaktest-"

// RecoverDeletions completes deletions that a crash interrupted. If the profile still exists, its folder is restored,
// because the deletion was never written. Copies and archives that were half there are removed.
func (m *Manager) RecoverDeletions(ctx context.Context) error {
	dir := filepath.Join(m.cfg.Data, "profiles")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	m.settleFolders(entries)
	if err := m.snapshots.RemoveUnfinished(); err != nil {
		m.log.Warn("what an earlier server left unfinished stays", "cause", err)
	}
	for _, e := range entries {
		if id, aside := strings.CutPrefix(e.Name(), erasedPrefix); aside {
			if err := m.recoverDeletion(ctx, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// sweepDeletions does the same while the server runs, with what a failing disk has left.
func (m *Manager) sweepDeletions(ctx context.Context) error {
	asides, err := filepath.Glob(filepath.Join(m.cfg.Data, "profiles", erasedPrefix+"*"))
	for _, aside := range asides {
		id := strings.TrimPrefix(filepath.Base(aside), erasedPrefix)
		if strings.HasPrefix(id, leakTestPrefix) {
			continue // the test removes it
		}
		release, _, held := m.tryHold(id)
		if release == nil || held != nil {
			continue
		}
		err = errors.Join(err, m.recoverDeletion(ctx, id))
		release()
	}
	return err
}

// recoverDeletion completes or undoes one deletion.
func (m *Manager) recoverDeletion(ctx context.Context, id string) error {
	aside := filepath.Join(m.cfg.Data, "profiles", erasedPrefix+id)
	_, err := m.store.Read().GetProfileAny(ctx, store.GetProfileAnyParams{ID: id})
	switch {
	case errors.Is(err, store.ErrNoRow):
		if err := os.RemoveAll(aside); err != nil {
			m.log.Warn("a removed profile's folder stays", "cause", err)
		}
	case err != nil:
		return err
	default:
		if err := restoreFolder(aside, m.profileDir(id)); err != nil {
			m.log.Error("a profile's folder was set aside for a deletion that was never written, and cannot be put back",
				"profile", id, "folder", erasedPrefix+id, "cause", err)
		}
	}
	return nil
}

// restoreFolder renames a folder back. The target must not exist.
func restoreFolder(aside, dir string) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(err, fs.ErrExist)
	}
	return os.Rename(aside, dir)
}

// ClockWatch detects that the machine's clock was set, by more than a night's sleep explains.
type ClockWatch struct {
	last            time.Time // time of the last call
	distrustedUntil time.Time // the clock is not trusted before
}

// Trusted reports whether the clock may decide what is deleted for good. After a step of more than a day it is not
// trusted for a day.
//
// A machine without a clock battery boots months behind. When its clock is set, everything in the trash looks old at
// once.
func (c *ClockWatch) Trusted(now time.Time) bool {
	const day = 24 * time.Hour
	now = now.Round(0) // wall clock only
	if !c.last.IsZero() && now.Sub(c.last).Abs() > day {
		c.distrustedUntil = now.Add(day)
	}
	c.last = now
	return !now.Before(c.distrustedUntil)
}

// emptyTrash removes profiles that are in the trash since before (milliseconds since 1970). A profile that is restored
// meanwhile stays. So does one whose data another server has, which removes it.
func (m *Manager) emptyTrash(ctx context.Context, before int64) error {
	rows, err := m.store.Read().ListTrashedBefore(ctx, store.ListTrashedBeforeParams{Before: before, NodeID: m.cfg.Node, Limit: 100})
	if err != nil {
		return err
	}
	for _, row := range rows {
		if ctx.Err() != nil {
			return nil // the server stops; the rest is removed later
		}
		if err := m.purge(ctx, row, before); err != nil {
			return err
		}
	}
	return nil
}

// purge removes a profile that is in the trash since before (milliseconds since 1970).
func (m *Manager) purge(ctx context.Context, row store.ListTrashedBeforeRow, before int64) error {
	release, _, _ := m.tryHold(row.ID) // the profile cannot start while its folder is renamed
	if release == nil {
		return nil
	}
	defer release()
	restored := errors.New("restored")
	err := m.removeProfile(ctx, row.ID, func(q *store.Queries) error {
		n, err := q.PurgeProfile(ctx, store.PurgeProfileParams{ID: row.ID, Before: before})
		if err == nil && n == 0 {
			return restored
		}
		if err != nil {
			return err
		}
		return q.Record(store.ByServer("profile.delete", row.WorkspaceID, row.ID, map[string]any{"permanent": true, "reason": "trash"}))
	})
	if errors.Is(err, restored) {
		return nil
	}
	if err == nil {
		m.events.Publish(events.Event{Type: "profile.deleted", Workspace: row.WorkspaceID, Data: DeletedEvent{row.ID, true}})
	}
	return err
}

// TrashDays returns how many days deleted profiles stay in the trash.
func (m *Manager) TrashDays() int { return m.cfg.TrashDays }

// DefaultLimits returns the limits of runs whose profile does not say; 0 is none.
func (m *Manager) DefaultLimits() Limits { return m.cfg.Limits }

// Sweep does the periodic work: it writes pending ends and traffic. If clockTrusted, it also purges old traffic and the
// trash.
func (m *Manager) Sweep(ctx context.Context, clockTrusted bool) error {
	m.flushPending("")
	m.RecordTraffic(ctx, "", "")
	err := m.sweepData(ctx, clockTrusted)
	if !clockTrusted {
		return err
	}
	return errors.Join(err, m.purgeTraffic(ctx), m.emptyTrash(ctx, time.Now().AddDate(0, 0, -m.cfg.TrashDays).UnixMilli()))
}
