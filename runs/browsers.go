package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"warren/shim"
	"warren/store"
)

// Finds the browsers of this machine and chooses the one for a profile. Only flags and `warren browser` name programs to
// run; no API key can.

// listMaxAge is how long a list of the browsers is reused.
const listMaxAge = 10 * time.Second

type foundBrowser struct {
	shim.Installed
	modified time.Time
}

type listedBrowsers struct {
	all    []shim.Listed
	looked time.Time
}

// Browser returns the default browser. The result is cached until the browser's file changes.
func (m *Manager) Browser(ctx context.Context) (shim.Installed, error) {
	if f := m.found.Load(); f != nil {
		if info, err := os.Stat(f.Path); err == nil && info.ModTime().Equal(f.modified) {
			return f.Installed, nil
		}
	}
	b, err := m.catalog.Default(ctx, m.searchPlaces())
	if err != nil {
		m.found.Store(nil)
		return b, err
	}
	f := &foundBrowser{Installed: b}
	if info, err := os.Stat(b.Path); err == nil {
		f.modified = info.ModTime()
	}
	m.found.Store(f)
	return b, nil
}

// browsers lists every browser, the default one first.
func (m *Manager) browsers(ctx context.Context) ([]shim.Listed, error) {
	standard, err := m.Browser(ctx)
	if err != nil {
		return nil, err
	}
	if l := m.listed.Load(); l != nil && time.Since(l.looked) < listMaxAge && l.all[0].Installed == standard {
		return l.all, nil
	}
	all, err := m.catalog.With(ctx, standard, m.searchPlaces())
	if err == nil {
		m.listed.Store(&listedBrowsers{all, time.Now()})
	}
	return all, err
}

// Browsers lists every browser, even if there is no default one.
func (m *Manager) Browsers(ctx context.Context) ([]shim.Listed, error) {
	all, err := m.browsers(ctx)
	if err != nil {
		all, err = m.catalog.With(ctx, shim.Installed{}, m.searchPlaces())
	}
	return all, err
}

// searchPlaces returns where browsers are searched for. If the list of added browsers cannot be read, the other places
// still count.
func (m *Manager) searchPlaces() shim.Places {
	added, err := ReadAdded(m.cfg.Data)
	if err != nil {
		m.log.Warn("the browsers that were added are not known", "cause", err)
	}
	return BrowserPlaces(m.cfg.Data, m.cfg.Browser, m.cfg.Browsers, added)
}

// BrowserPlaces returns where the browsers of a data folder are searched for. given is the path of --browser, folders
// those of --browsers. added are the paths from `warren browser add`.
func BrowserPlaces(data, given string, folders, added []string) shim.Places {
	return shim.Places{Given: given, Added: added, Folders: folders, Installed: filepath.Join(data, "browsers")}
}

// DefaultMajor returns the default browser's major version; "" if none was found yet.
func (m *Manager) DefaultMajor() string {
	if f := m.found.Load(); f != nil {
		return strconv.Itoa(f.Major)
	}
	return ""
}

// chooseBrowser chooses the browser for a profile, and records in the plan how well it fits. A browser older than the
// profile's data is refused even if another one would fit, so that the choice is predictable.
func (m *Manager) chooseBrowser(ctx context.Context, p *plan, downgrade bool) (b shim.Installed, err error) {
	if b, err = m.Browser(ctx); err != nil {
		return b, browserNotFound(err)
	}
	p.match = "exact"
	if declared, err := strconv.Atoi(p.row.BrowserVersion); err == nil && declared != b.Major {
		have, err := m.browsers(ctx)
		if err != nil {
			return b, browserNotFound(err)
		}
		var exact bool
		if b, exact = shim.ChooseBrowser(have, declared); !exact {
			p.match = "nearest"
		}
	}
	last, major := shim.LastOpened(m.profileDir(p.row.ID))
	if b.Major >= major {
		return b, nil
	}
	if !downgrade {
		return b, BrowserTooOld(last, major, b)
	}
	p.lastOpened = last
	return b, nil
}

// addedBrowsers is what browsers.json in the data folder holds.
type addedBrowsers struct {
	Paths []string `json:"paths"`
}

func addedFile(data string) string { return filepath.Join(data, "browsers.json") }

// ReadAdded returns the programs that `warren browser add` has added to a data folder.
func ReadAdded(data string) ([]string, error) {
	text, err := os.ReadFile(addedFile(data))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var added addedBrowsers
	if err == nil {
		err = json.Unmarshal(text, &added)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", addedFile(data), err)
	}
	return added.Paths, nil
}

// WriteAdded replaces the paths of added browsers in a data folder.
func WriteAdded(data string, paths []string) error {
	text, err := json.Marshal(addedBrowsers{Paths: paths})
	if err != nil {
		return err
	}
	return store.WriteFile(addedFile(data), string(text)+"\n")
}
