// Package builds manages browsers of several versions. It lists the installed ones, chooses one for a profile, and installs builds of
// Chrome for Testing. Before another version opens a profile, it copies the profile's user data.
package builds

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"warren/browser"
)

// Places says where to search for browsers, beside PATH and the usual places of this platform.
type Places struct {
	Given     string   // path of the default browser; "": the first one found
	Added     []string // paths of programs
	Folders   []string // folders that hold builds, such as those of Chrome for Testing and Playwright
	Installed string   // the folder that Install fills; "": none
}

// Source says where a browser was found.
type Source string

// The sources, in search order.
const (
	SourceDefault   Source = "default"   // runs profiles that declare no version, wherever it was found
	SourcePath      Source = "path"      // a name on PATH
	SourceUsual     Source = "usual"     // a usual place of this platform
	SourceAdded     Source = "added"     // Places.Added
	SourceFolder    Source = "folder"    // below one of Places.Folders
	SourceInstalled Source = "installed" // below Places.Installed
)

// Listed is a browser and where it was found.
type Listed struct {
	browser.Installed
	Source Source
}

// Catalog lists browsers. It remembers what a program answered to --version until the program's file changes, so that a second search is
// cheap. The zero value is ready to use; its methods are safe for concurrent use.
type Catalog struct {
	mu      sync.Mutex
	answers map[string]inspection // by path of the program
}

type inspection struct {
	found    browser.Installed
	err      error
	modified time.Time
	size     int64
	at       time.Time
}

// retryAfter is how long a failed --version is remembered. A busy machine may have kept a browser from answering.
const retryAfter = time.Minute

// Default returns the browser that runs profiles without a declared version: the one at p.Given, else the first one found. It fails as
// browser.Find does.
func (c *Catalog) Default(ctx context.Context, p Places) (browser.Installed, error) {
	found, err := browser.Find(ctx, p.Given)
	if _, missing := errors.AsType[*browser.NotFoundError](err); !missing || p.Given != "" {
		return found, err
	}
	if more := c.search(ctx, p, nil); len(more) > 0 {
		return more[0].Installed, nil
	}
	return found, err
}

// List returns every browser found, the default one first. Without a default browser it fails as browser.Find does.
func (c *Catalog) List(ctx context.Context, p Places) ([]Listed, error) {
	standard, err := c.Default(ctx, p)
	if err != nil {
		return nil, err
	}
	return c.With(ctx, standard, p)
}

// With is List for a known default browser; the zero value stands for none. Its only error is that of ctx.
func (c *Catalog) With(ctx context.Context, standard browser.Installed, p Places) ([]Listed, error) {
	if standard.Path == "" {
		return c.search(ctx, p, nil), ctx.Err()
	}
	others := c.search(ctx, p, []string{withoutLinks(standard.Path)})
	return append([]Listed{{standard, SourceDefault}}, others...), ctx.Err()
}

// search looks at every place except p.Given. It leaves out the real paths in known.
func (c *Catalog) search(ctx context.Context, p Places, known []string) (out []Listed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	look := func(source Source, places []string) {
		for _, place := range places {
			path, err := browser.Locate(place)
			if err != nil || slices.Contains(known, withoutLinks(path)) || ctx.Err() != nil {
				continue
			}
			if found, err := c.inspect(ctx, path); err == nil {
				known = append(known, withoutLinks(path))
				out = append(out, Listed{found, source})
			}
		}
	}
	look(SourcePath, browser.ProgramNames())
	look(SourceUsual, browser.UsualPlaces())
	look(SourceAdded, p.Added)
	for _, folder := range p.Folders {
		look(SourceFolder, builds(folder))
	}
	if p.Installed != "" {
		look(SourceInstalled, builds(p.Installed))
	}
	return out
}

// inspect runs the program with --version, or returns the remembered answer.
func (c *Catalog) inspect(ctx context.Context, path string) (browser.Installed, error) {
	info, err := os.Stat(path)
	if err != nil {
		return browser.Installed{}, err
	}
	was, ok := c.answers[path]
	if ok && was.modified.Equal(info.ModTime()) && was.size == info.Size() && (was.err == nil || time.Since(was.at) < retryAfter) {
		return was.found, was.err
	}
	found, err := browser.Inspect(ctx, path)
	if ctx.Err() != nil {
		return found, ctx.Err()
	}
	if c.answers == nil {
		c.answers = map[string]inspection{}
	}
	c.answers[path] = inspection{found, err, info.ModTime(), info.Size(), time.Now()}
	return found, err
}

// withoutLinks resolves symbolic links, so that two paths of one program compare equal.
func withoutLinks(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return path
}

// maxFolders bounds the search below one folder, in case somebody names a home directory.
const maxFolders = 1000

// builds finds programs in folder and in two levels of folders below it. It knows the layouts of Warren and Puppeteer
// (VERSION/chrome-linux64/chrome, chrome/linux-VERSION/chrome-linux64/chrome) and of Playwright (chromium-1140/chrome-linux/chrome), and
// archives unpacked by hand. The search does not descend into a build, nor into folders whose name begins with a dot.
func builds(folder string) (programs []string) {
	level, left := []string{folder}, maxFolders
	for range 3 {
		var next []string
		for _, dir := range level {
			if left--; left < 0 {
				return programs
			}
			if found := buildIn(dir); found != "" {
				programs = append(programs, found)
				continue
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				continue // an unreadable folder among others is no error
			}
			for _, e := range entries {
				if strings.HasPrefix(e.Name(), ".") || !e.IsDir() && e.Type()&fs.ModeSymlink == 0 {
					continue
				}
				next = append(next, filepath.Join(dir, e.Name()))
			}
		}
		level = next
	}
	return programs
}

// buildIn returns the program of the build in dir, "" for none.
func buildIn(dir string) string {
	for _, pattern := range []string{
		"chrome-linux64/chrome", "chrome-linux/chrome", "chrome-mac-*/*.app", "chrome-mac/*.app", "chrome-win64/chrome.exe",
		"chrome-win32/chrome.exe", "chrome-win/chrome.exe",
		"chrome", "chromium", "msedge", "brave", "chrome.exe", "msedge.exe", "brave.exe", "*.app",
	} {
		found, _ := fs.Glob(os.DirFS(dir), pattern) // every pattern is well formed
		for _, name := range found {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if _, err := browser.Locate(path); err == nil {
				return path
			}
		}
	}
	return ""
}

// Choose picks the browser that runs a profile of a declared major version; 0: none is declared. have must not be empty. have[0] is the
// default browser, which runs every profile without a declaration.
//
// The same major is best (exact), then the nearest newer one, then the newest. A newer browser can present itself as an older version, and
// it can read what the older one stored in the profile.
//
// Among builds of one major the default browser comes first. Then come builds of the same product, then Chromium and Chrome, which add
// nothing of their own as Edge and Brave do. Within a product the highest build number wins.
func Choose(have []browser.Installed, major int) (chosen browser.Installed, exact bool) {
	if major == 0 || have[0].Major == major {
		return have[0], true
	}
	best := have[0]
	for _, b := range have[1:] {
		if isBetter(b, best, major, have[0]) {
			best = b
		}
	}
	return best, best.Major == major
}

// isBetter reports whether b suits a profile of that major better than best.
func isBetter(b, best browser.Installed, major int, standard browser.Installed) bool {
	if b.Major == best.Major {
		if best == standard {
			return false
		}
		if x, y := preference(b, standard), preference(best, standard); x != y {
			return x < y
		}
		return newer(b.Version, best.Version)
	}
	if old := best.Major < major; old || b.Major < major {
		return old && b.Major > best.Major // an older browser wins only where none is newer; then the newest does
	}
	return b.Major < best.Major
}

// preference ranks a product against the default browser's: 0 the same, 1 Chromium or Chrome, 2 any other. Build numbers of different
// products cannot be compared: Brave has its own (141.1.83.109).
func preference(b, standard browser.Installed) int {
	switch {
	case b.Product == standard.Product:
		return 0
	case strings.HasPrefix(b.Product, "Chromium"), strings.HasPrefix(b.Product, "Google Chrome"):
		return 1
	}
	return 2
}

// newer reports whether version a is higher than b. A string that is no version counts as 0.0.0.0.
func newer(a, b string) bool {
	x, _ := browser.ParseVersion(a)
	y, _ := browser.ParseVersion(b)
	return slices.Compare(x[:], y[:]) > 0
}
