package runs

import (
	"context"
	"slices"
	"time"

	"warren/shim"
	"warren/store"
)

// Clears data of profiles that do not run.

// ClearOptions says what of a profile's data is cleared. Origins narrows the kinds that belong to origins; the others are not cleared then.
type ClearOptions struct {
	Kinds, Origins []string
	Since          time.Time // zero: since ever
}

// Cleared says what was cleared.
type Cleared struct{ Bytes int64 } // how much smaller the profile's folder is

// Clear clears data of a profile. The error is profile_running while its browser runs: pages would write again what was cleared.
func (m *Manager) Clear(ctx context.Context, row store.Profile, o ClearOptions) (Cleared, error) {
	release, err := m.holdAtRest(ctx, row.ID)
	if err != nil {
		return Cleared{}, err
	}
	defer release()
	before := folderBytes(m.profileDir(row.ID))
	what := &shim.ClearOptions{Kinds: o.Kinds, Origins: o.Origins, Since: o.Since}
	err = m.openAtRest(ctx, row, what, func(c *shim.Client) error { return stateProblem(c.ClearState(context.WithoutCancel(ctx))) })
	if err == nil && slices.Contains(o.Kinds, "downloads") && len(o.Origins) == 0 {
		err = m.clearDownloads(row.ID, o.Since)
	}
	return Cleared{max(0, before-folderBytes(m.profileDir(row.ID)))}, err
}

// clearDownloads removes the files of the last run. The caller holds the profile.
func (m *Manager) clearDownloads(profileID string, since time.Time) error {
	dir := m.profileDir(profileID)
	all, err := shim.StoredDownloads(dir)
	for _, d := range all {
		if err == nil && !d.BeganAt.Before(since) {
			err = shim.RemoveStoredDownload(dir, d.Name)
		}
	}
	return err
}
