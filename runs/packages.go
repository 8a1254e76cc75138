package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"warren/extensions"
	"warren/problem"
	"warren/store"
)

// Keeps packages of extensions, and fetches those that only other servers of the database have.

// fetchTime is how long the transfer of a package may take, from all servers together.
const fetchTime = 2 * time.Minute

// Packages are the packages of extensions that the other servers of the database have.
type Packages interface {
	// Fetch calls take with the files of a package, as extensions.Folder.Pack writes them, from each server that has it until one returns
	// nil. sum is the SHA-256 of its file in hexadecimal digits. The error says why each server was of no use.
	Fetch(ctx context.Context, sum string, take func(files io.Reader) error) error
}

// packages is what a manager knows of its folder of packages.
type packages struct {
	held sync.Mutex // while packages come or go

	mu       sync.Mutex
	underway map[string]*fetch // by the SHA-256
}

// fetch is a package on its way. err is for who waits for done.
type fetch struct {
	done chan struct{}
	err  error
}

// Packages returns where the packages of extensions are.
func (m *Manager) Packages() extensions.Folder {
	return extensions.Folder(filepath.Join(m.cfg.Data, "extensions"))
}

// HoldPackages waits until no package comes or goes. Until release is called none does but by the caller.
func (m *Manager) HoldPackages() (release func()) {
	m.packages.held.Lock()
	return m.packages.held.Unlock
}

// fetchPackages fetches the packages that a start of a profile loads and that are not here. The error is extension_missing for one that no
// server gives. Without other servers it does nothing: a start warns.
func (m *Manager) fetchPackages(ctx context.Context, row store.Profile) error {
	if m.cfg.Packages == nil {
		return nil
	}
	uses, rows, err := ExtensionsOf(ctx, m.store.Read(), row)
	if err != nil {
		return err
	}
	for _, e := range rows {
		loaded := slices.ContainsFunc(uses, func(u ExtensionUse) bool { return u.ID == e.ID && u.Enabled })
		if !loaded || m.Packages().Has(e.Sha256) {
			continue
		}
		if err := m.fetchPackage(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// fetchPackage fetches a package, or waits for a start that does. If that start is cancelled, this one goes on.
func (m *Manager) fetchPackage(ctx context.Context, e store.Extension) error {
	for {
		one, mine := m.packages.begin(e.Sha256)
		if mine {
			if !m.Packages().Has(e.Sha256) { // it came before begin
				one.err = m.fetch(ctx, e)
			}
			m.packages.end(e.Sha256, one)
			return one.err
		}
		select {
		case <-one.done:
		case <-ctx.Done():
			return m.cancelledStart()
		}
		if !problem.HasCode(one.err, CancelledStart().Code) {
			return one.err
		}
	}
}

// begin returns the transfer of a package that goes on, or a new one. mine: the caller has begun it, and ends it.
func (p *packages) begin(sum string) (one *fetch, mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.underway[sum]; one != nil {
		return one, false
	}
	if p.underway == nil {
		p.underway = map[string]*fetch{}
	}
	one = &fetch{done: make(chan struct{})}
	p.underway[sum] = one
	return one, true
}

func (p *packages) end(sum string, one *fetch) {
	p.mu.Lock()
	delete(p.underway, sum)
	p.mu.Unlock()
	close(one.done)
}

// fetch fetches a package from the first server that has it as its row says.
func (m *Manager) fetch(ctx context.Context, e store.Extension) error {
	limited, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	err := m.cfg.Packages.Fetch(limited, e.Sha256, func(files io.Reader) error { return m.takeFiles(files, e) })
	switch {
	case err == nil:
		m.log.Info("a package of an extension was fetched from another server", "extension", e.ID, "sha256", e.Sha256)
		return nil
	case ctx.Err() != nil:
		return m.cancelledStart()
	}
	if own, ok := errors.AsType[*fs.PathError](err); ok { // this server's disk fails
		return own
	}
	m.log.Warn("a package of an extension was not fetched", "extension", e.ID, "sha256", e.Sha256, "cause", err)
	return ExtensionMissing(e.Name).Because(err)
}

// takeFiles unpacks the files of a package, if they are of the extension that the row says. Their own SHA-256 nobody knows: it is of the
// file that was sent once. So they are checked as a package that is added, and must ask for the same permissions.
func (m *Manager) takeFiles(files io.Reader, e store.Extension) error {
	file, size, _, err := m.Packages().Receive(files, extensions.MaxPacked)
	if err != nil {
		return err
	}
	defer m.Packages().Discard(file)
	p, err := extensions.ReadPacked(file, size)
	if err != nil {
		return err
	}
	if p.ID != e.ExtensionID || p.Version != e.Version || int64(p.Files) != e.Files || p.Rules != e.Rules ||
		!slices.Equal(p.Permissions, StringsOf(e.Permissions)) ||
		!slices.Equal(p.OptionalPermissions, StringsOf(e.OptionalPermissions)) {
		return fmt.Errorf("the files are of %s %s, and not of %s %s: %w", p.ID, p.Version, e.ExtensionID, e.Version, errOtherPackage)
	}
	defer m.HoldPackages()()
	return m.Packages().Unpack(p, e.Sha256)
}

// errOtherPackage is the error of files that are not those of an extension's row.
var errOtherPackage = errors.New("they differ from what was added")

// ExtensionMissing is the error of a start with an extension whose files no server gives.
func ExtensionMissing(name string) *problem.Error {
	return problem.New(problem.Conflict, "extension_missing", "No server that answers has the files of the extension "+name+". Start the "+
		"server that took it, add its package again, or turn the extension off in the profile.")
}
