package runs

import (
	"context"
	"maps"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"

	"warren/shim"
	"warren/store"
)

// Decides which extensions a start loads.

// PackagesInUse returns the SHA-256 of the packages that runs load or have loaded, also of runs that an earlier server started.
func (m *Manager) PackagesInUse() map[string]bool {
	m.mu.Lock()
	live := slices.Collect(maps.Values(m.byProfile))
	m.mu.Unlock()
	used := map[string]bool{}
	for _, r := range live {
		r.mu.Lock()
		for _, sum := range r.packages {
			used[sum] = true
		}
		r.mu.Unlock()
	}
	return used
}

// usePackages keeps packages on the disk until the run has ended.
func (r *run) usePackages(sums []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.packages = sums
}

// packages returns the SHA-256 of the packages that the start loads.
func (p *plan) packages() (sums []string) {
	for _, e := range p.spec.Extensions {
		sums = append(sums, filepath.Base(e.Path))
	}
	return sums
}

// ExtensionUse is an extension of a profile, as its row has it.
type ExtensionUse struct {
	ID      string `json:"id"`
	Enabled bool   `json:"enabled"`
}

// ExtensionsOf returns the extensions of a profile in their order, and the rows of those that are there, unsorted.
func ExtensionsOf(ctx context.Context, q *store.Queries, row store.Profile) (uses []ExtensionUse, rows []store.Extension, err error) {
	if err := json.Unmarshal([]byte(row.Extensions), &uses); err != nil || len(uses) == 0 {
		return nil, nil, err
	}
	ids := make([]string, len(uses))
	for i, u := range uses {
		ids[i] = u.ID
	}
	text, err := json.Marshal(ids)
	if err != nil {
		return nil, nil, err
	}
	rows, err = q.ListExtensionsOfProfile(ctx, store.ListExtensionsOfProfileParams{WorkspaceID: row.WorkspaceID, Ids: string(text)})
	return uses, rows, err
}

// mayLeave reports whether an extension could choose another way out than the run's relay.
func mayLeave(e store.Extension) bool {
	var all, optional []string
	if json.Unmarshal([]byte(e.Permissions), &all) != nil || json.Unmarshal([]byte(e.OptionalPermissions), &optional) != nil {
		return true
	}
	return slices.ContainsFunc(append(all, optional...), func(p string) bool { return p == "proxy" || p == "nativeMessaging" })
}

// extensionsFor returns what a start loads of a profile's extensions: those that are enabled. Those that are not there any more are left
// out, with a warning: a profile may have been in the trash when one was deleted. A dry start fetches no files, and warns of those that are
// not here.
func (m *Manager) extensionsFor(ctx context.Context, row store.Profile, dry bool) (load []shim.Extension, warnings []Warning, err error) {
	uses, rows, err := ExtensionsOf(ctx, m.store.Read(), row)
	if err != nil {
		return nil, nil, err
	}
	missing := 0
	for _, u := range uses {
		at := slices.IndexFunc(rows, func(e store.Extension) bool { return e.ID == u.ID })
		switch {
		case !u.Enabled:
		case at < 0:
			missing++
		case m.cfg.Packages != nil && dry && !m.Packages().Has(rows[at].Sha256):
			warnings = append(warnings, Warning{"extension_missing", "The files of the extension " + rows[at].Name +
				" are not on this server. A start fetches them from another one, and is refused if none that answers has them."})
		case m.cfg.Packages == nil && !m.Packages().Has(rows[at].Sha256): // of several servers, a start has fetched it
			warnings = append(warnings, Warning{"extension_missing", "The files of the extension " + rows[at].Name +
				" are not in the data folder. Add its package again."})
		default:
			load = append(load, shim.Extension{ID: rows[at].ExtensionID, Path: m.Packages().Path(rows[at].Sha256), Copy: rows[at].Rules,
				Confined: mayLeave(rows[at])})
		}
	}
	if missing > 0 {
		warnings = append(warnings, Warning{"extension_missing", "Extensions of this profile were deleted. Take them from its list."})
	}
	return load, warnings, nil
}
