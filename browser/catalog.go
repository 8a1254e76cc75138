package browser

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
)

// Places says where browsers are looked for, beside PATH and the usual places of this platform.
type Places struct {
	Given     string   // the default browser's path; "" is the first one that is found
	Added     []string // programs
	Folders   []string // folders with builds in them, as Chrome for Testing's and Playwright's
	Installed string   // the folder that Install fills; "" none
}

// Source says where a browser was found.
type Source string

// The sources, in the order in which they are looked at.
const (
	SourceDefault   Source = "default"   // what runs profiles that declare no version, wherever it was found
	SourcePath      Source = "path"      // a name on PATH
	SourceUsual     Source = "usual"     // a usual place of this platform
	SourceAdded     Source = "added"     // Places.Added
	SourceFolder    Source = "folder"    // below one of Places.Folders
	SourceInstalled Source = "installed" // below Places.Installed
)

// Listed is a browser with where it was found.
type Listed struct {
	Installed
	Source Source
}

// Catalog lists browsers. What a program answered to --version is believed while its file does not change, so that looking again costs a
// few file calls. The zero value is ready; it may be used by several goroutines.
type Catalog struct {
	mu   sync.Mutex
	seen map[string]inspection // by the program's path
}

type inspection struct {
	found    Installed
	err      error
	modified time.Time
	size     int64
	at       time.Time
}

// disbelief is how long a program that was no browser is not asked again: it may have been one that a busy machine kept from answering.
const disbelief = time.Minute

// Default returns the browser that runs profiles which declare no version: the one at p.Given, else the first of all places. It fails as
// Find does.
func (c *Catalog) Default(ctx context.Context, p Places) (Installed, error) {
	found, err := Find(ctx, p.Given)
	if _, missing := errors.AsType[*NotFoundError](err); !missing || p.Given != "" {
		return found, err
	}
	if more := c.others(ctx, p, nil); len(more) > 0 {
		return more[0].Installed, nil
	}
	return found, err
}

// List returns every browser that is found, the default one first. It fails as Find does when there is no default one.
func (c *Catalog) List(ctx context.Context, p Places) ([]Listed, error) {
	standard, err := c.Default(ctx, p)
	if err != nil {
		return nil, err
	}
	return c.With(ctx, standard, p)
}

// With is List where the default browser is known; the zero value says that there is none. It fails with ctx's error only.
func (c *Catalog) With(ctx context.Context, standard Installed, p Places) ([]Listed, error) {
	if standard.Path == "" {
		return c.others(ctx, p, nil), ctx.Err()
	}
	others := c.others(ctx, p, []string{withoutLinks(standard.Path)})
	return append([]Listed{{standard, SourceDefault}}, others...), ctx.Err()
}

// others looks at every place but the given one, and leaves out what is in known (real paths).
func (c *Catalog) others(ctx context.Context, p Places, known []string) (out []Listed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	look := func(source Source, places []string) {
		for _, place := range places {
			path, err := located(place)
			if err != nil || slices.Contains(known, withoutLinks(path)) || ctx.Err() != nil {
				continue
			}
			if found, err := c.inspect(ctx, path); err == nil {
				known = append(known, withoutLinks(path))
				out = append(out, Listed{found, source})
			}
		}
	}
	look(SourcePath, programNames())
	look(SourceUsual, usualPlaces())
	look(SourceAdded, p.Added)
	for _, folder := range p.Folders {
		look(SourceFolder, builds(folder))
	}
	if p.Installed != "" {
		look(SourceInstalled, builds(p.Installed))
	}
	return out
}

// inspect asks the program for its version, or remembers what it said.
func (c *Catalog) inspect(ctx context.Context, path string) (Installed, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Installed{}, err
	}
	was, ok := c.seen[path]
	if ok && was.modified.Equal(info.ModTime()) && was.size == info.Size() && (was.err == nil || time.Since(was.at) < disbelief) {
		return was.found, was.err
	}
	found, err := installedAt(ctx, path)
	if ctx.Err() != nil {
		return found, ctx.Err()
	}
	if c.seen == nil {
		c.seen = map[string]inspection{}
	}
	c.seen[path] = inspection{found, err, info.ModTime(), info.Size(), time.Now()}
	return found, err
}

// withoutLinks is path without symbolic links, to tell whether two are one.
func withoutLinks(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return path
}

// maxFolders is how many folders are looked into below one that holds builds: more than anybody keeps, and an end where a folder turns out
// to be somebody's home.
const maxFolders = 1000

// builds finds the programs of builds in folder, in its folders and in theirs: Chrome for Testing's as Warren and Puppeteer keep them
// (VERSION/chrome-linux64/chrome, chrome/linux-VERSION/chrome-linux64/chrome), Playwright's (chromium-1140/chrome-linux/chrome), or one
// unpacked by hand. A folder with a build in it is not looked into further. What begins with a dot is none.
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
				continue // nobody's business here: a folder among others may be closed to us
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

// buildIn is the program of the build that lies in dir, "" when there is none.
func buildIn(dir string) string {
	for _, pattern := range []string{
		"chrome-linux64/chrome", "chrome-linux/chrome", "chrome-mac-*/*.app", "chrome-mac/*.app", "chrome-win64/chrome.exe", "chrome-win32/chrome.exe", "chrome-win/chrome.exe",
		"chrome", "chromium", "msedge", "brave", "chrome.exe", "msedge.exe", "brave.exe", "*.app",
	} {
		found, _ := filepath.Glob(filepath.Join(globQuote(dir), filepath.FromSlash(pattern))) // the patterns are well formed
		for _, path := range found {
			if executable(program(path)) == nil {
				return path
			}
		}
	}
	return ""
}
