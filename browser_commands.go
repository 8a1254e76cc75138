package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"warren/api"
	"warren/runs"
	"warren/shim"
)

// The commands about browsers. They change the data folder and do not use the API: only someone who may write that folder
// may name a program for the server to run. Over the API administrators install builds too, and name a version alone. A
// running server sees a change within ten seconds.

type browserCommands struct {
	List    browserList    `cmd:"" help:"List the browsers that serve would know."`
	Add     browserAdd     `cmd:"" help:"Let profiles be run by a browser that lies elsewhere."`
	Install browserInstall `cmd:"" help:"Download a build of Chrome for Testing."`
	Remove  browserRemove  `cmd:"" help:"Forget a browser that was added, or delete a build that was installed."`
}

// browserData is the data folder that a command about browsers works on.
type browserData struct {
	Data string `env:"WARREN_DATA" placeholder:"DIR" help:"The server's data folder. Default: the platform's data folder."`
	JSON bool   `name:"json" env:"WARREN_JSON" help:"Print JSON."`
}

func (b *browserData) find() (err error) {
	if b.Data, err = dataDir(b.Data); err == nil {
		b.Data, err = filepath.Abs(b.Data)
	}
	return err
}

// claim finds the data folder, or makes it, and keeps other commands about browsers out until release is called.
func (b *browserData) claim(ctx context.Context) (release func(), err error) {
	if err := b.find(); err != nil {
		return nil, err
	}
	private()
	if err := os.MkdirAll(b.Data, 0o700); err != nil {
		return nil, fmt.Errorf("the data folder cannot be made: %w; choose another with --data DIR", err)
	}
	if ownedByOther(b.Data) { // what root writes there the server could not read
		return nil, refusef("%s belongs to another user; run this as that user, such as with: sudo -u USER warren browser …", b.Data)
	}
	release, err = runs.LockBrowsers(ctx, b.Data, 5*time.Second)
	switch {
	case err == nil || ctx.Err() != nil:
		return release, err
	case errors.Is(err, runs.ErrBrowsersLocked):
		return nil, fmt.Errorf("%w on %s; wait for its end", err, b.Data)
	}
	return nil, fmt.Errorf("the data folder cannot be written: %w; choose another with --data DIR", err)
}

type browserList struct {
	browserData
	Browser  string   `env:"WARREN_BROWSER" placeholder:"PATH" help:"The default browser, as for serve."`
	Browsers []string `name:"browsers" env:"WARREN_BROWSERS" placeholder:"DIR" help:"Folders below which more builds lie, as for serve."`
}

// Run lists the browsers, the default one first.
func (b *browserList) Run(ctx context.Context, c *console) error {
	if err := b.find(); err != nil {
		return err
	}
	added, err := runs.ReadAdded(b.Data)
	if err != nil {
		return err
	}
	places := runs.BrowserPlaces(b.Data, b.Browser, b.Browsers, added)
	var catalog shim.Catalog
	all, missing := catalog.List(ctx, places)
	if missing != nil { // there may be others all the same
		if all, err = catalog.With(ctx, shim.Installed{}, places); err != nil {
			return err
		}
	}
	rows := api.ListedBrowsers(all)
	if b.JSON {
		if err := printJSON(c.stdout, map[string]any{"data": rows, "total": len(rows)}); err != nil {
			return err
		}
		return missing
	}
	w := newTable(c.stdout, "PRODUCT\tVERSION\tSOURCE\tPATH\n")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Product, r.Version, r.Source, r.Path)
	}
	for _, path := range added {
		if !slices.ContainsFunc(all, func(l shim.Listed) bool { return sameFile(l.Path, path) }) {
			fmt.Fprintf(w, "?\t?\tadded\t%s (is no browser any more)\n", path)
		}
	}
	return errors.Join(w.Flush(), missing)
}

// sameFile reports whether two paths lead to one file.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return a == b || errX == nil && errY == nil && os.SameFile(x, y)
}

type browserAdd struct {
	browserData
	Path string `arg:"" help:"The program, or on macOS its application."`
}

// Run adds a browser to the server's list. It runs the program once, with --version.
func (b *browserAdd) Run(ctx context.Context, c *console) error {
	release, err := b.claim(ctx)
	if err != nil {
		return err
	}
	defer release()
	found, err := shim.FindBrowser(ctx, b.Path)
	if err != nil {
		return err
	}
	paths, err := runs.ReadAdded(b.Data)
	if err != nil {
		return err
	}
	if !slices.Contains(paths, found.Path) {
		if err := runs.WriteAdded(b.Data, append(paths, found.Path)); err != nil {
			return err
		}
	}
	return b.tell(c, found, "added")
}

// tell prints the outcome.
func (b *browserData) tell(c *console, i shim.Installed, what string) error {
	if b.JSON {
		return printJSON(c.stdout, api.ListedBrowser{Path: i.Path, Product: i.Product, Version: i.Version, Major: i.Major, Source: what})
	}
	_, err := fmt.Fprintf(c.stdout, "%s %s %s at %s\n", what, i.Product, i.Version, i.Path)
	return err
}

type browserRemove struct {
	browserData
	What string `arg:"" name:"path-or-version" help:"The path of a browser that was added, or the version of one that was installed. Stop the profiles that it runs first."`
}

// Run removes an added browser from the list, or deletes an installed build.
func (b *browserRemove) Run(ctx context.Context, c *console) error {
	release, err := b.claim(ctx)
	if err != nil {
		return err
	}
	defer release()
	removed, err := shim.RemoveBrowser(filepath.Join(b.Data, "browsers"), b.What)
	if err != nil {
		return err
	}
	if !removed {
		paths, err := runs.ReadAdded(b.Data)
		if err != nil {
			return err
		}
		path, err := filepath.Abs(b.What)
		if err != nil {
			return err
		}
		behind := path // of a wrapper script its program was added
		if found, err := shim.FindBrowser(ctx, path); err == nil {
			behind = found.Path
		}
		left := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return p == path || sameFile(p, path) || p == behind })
		if len(left) == len(paths) {
			return misusef("%s was neither added nor installed; warren browser list shows what was", b.What)
		}
		if err := runs.WriteAdded(b.Data, left); err != nil {
			return err
		}
	}
	if b.JSON {
		return printJSON(c.stdout, map[string]any{"removed": b.What})
	}
	_, err = fmt.Fprintln(c.stdout, "removed")
	return err
}

type browserInstall struct {
	browserData
	Version string `arg:"" help:"A major version, such as 124: its newest build. Or a build, such as 124.0.6367.207."`
	Mirror  string `name:"browser-mirror" env:"WARREN_BROWSER_MIRROR" placeholder:"URL" help:"Where known-good-versions-with-downloads.json lies. Default: Chrome for Testing's own."`
}

// Run downloads a build, verifies it and installs it in the data folder.
func (b *browserInstall) Run(ctx context.Context, c *console) error {
	if b.Mirror == runs.InstallOff {
		return misusef("--browser-mirror (WARREN_BROWSER_MIRROR) is off: give an address, or leave it out for Chrome for Testing's own")
	}
	release, err := b.claim(ctx)
	if err != nil {
		return err
	}
	defer release()
	found, fresh, err := runs.InstallBrowser(ctx, b.Data, b.Mirror, b.Version, progressLines(c.stderr))
	if err != nil {
		return err
	}
	what := "installed"
	if !fresh && !b.JSON {
		what = "there already:"
	}
	return b.tell(c, found, what)
}

// progressLines returns what prints an installation's progress: each step, and each quarter of the download.
func progressLines(w io.Writer) func(shim.InstallProgress) {
	var last string
	return func(p shim.InstallProgress) {
		line := string(p.Step)
		switch {
		case p.Step == shim.Looking:
			return
		case p.Step == shim.Downloading && p.DoneBytes == 0:
			line = "fetching " + p.Address
		case p.Step == shim.Downloading && p.TotalBytes > 0:
			line = fmt.Sprintf("fetched %d %% of %d MiB", p.DoneBytes*4/p.TotalBytes*25, p.TotalBytes>>20)
		case p.Step == shim.Downloading:
			line = fmt.Sprintf("fetched %d MiB", p.DoneBytes>>25<<5)
		}
		if line != last {
			fmt.Fprintln(w, line)
		}
		last = line
	}
}
