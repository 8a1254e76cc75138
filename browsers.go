package main

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

	"warren/problem"
	"warren/shim"
	"warren/store"
)

// This file holds the browsers of this machine: which there are, and which one runs a profile. What may be run is said on the machine
// itself, by flags and by `warren browser`; no API key can name a program.

// lookAgain is how long it is believed what browsers there are.
const lookAgain = 10 * time.Second

type foundBrowser struct {
	shim.Installed
	modified, looked time.Time
}

type listedBrowsers struct {
	all    []shim.Listed
	looked time.Time
}

// browser finds the default browser. What was found is believed while its file does not change; that is looked at every ten seconds.
func (rs *runs) browser(ctx context.Context) (shim.Installed, error) {
	if f := rs.found.Load(); f != nil {
		if time.Since(f.looked) < lookAgain {
			return f.Installed, nil
		}
		if info, err := os.Stat(f.Path); err == nil && info.ModTime().Equal(f.modified) {
			rs.found.Store(&foundBrowser{f.Installed, f.modified, time.Now()})
			return f.Installed, nil
		}
	}
	b, err := rs.catalog.Default(ctx, rs.places())
	if err != nil {
		rs.found.Store(nil)
		return b, err
	}
	f := &foundBrowser{Installed: b, looked: time.Now()}
	if info, err := os.Stat(b.Path); err == nil {
		f.modified = info.ModTime()
	}
	rs.found.Store(f)
	return b, nil
}

// browsers lists every browser, the default one first.
func (rs *runs) browsers(ctx context.Context) ([]shim.Listed, error) {
	standard, err := rs.browser(ctx)
	if err != nil {
		return nil, err
	}
	if l := rs.listed.Load(); l != nil && time.Since(l.looked) < lookAgain && l.all[0].Installed == standard {
		return l.all, nil
	}
	all, err := rs.catalog.With(ctx, standard, rs.places())
	if err == nil {
		rs.listed.Store(&listedBrowsers{all, time.Now()})
	}
	return all, err
}

// allBrowsers lists every browser, also where there is no default one.
func (rs *runs) allBrowsers(ctx context.Context) ([]shim.Listed, error) {
	all, err := rs.browsers(ctx)
	if err != nil {
		all, err = rs.catalog.With(ctx, shim.Installed{}, rs.places())
	}
	return all, err
}

// places is where the server looks. A list of added browsers that cannot be read keeps nobody from what there is beside.
func (rs *runs) places() shim.Places {
	added, err := readAdded(rs.cfg.Data)
	if err != nil {
		rs.log.Warn("the browsers that were added are not known", "cause", err)
	}
	return browserPlaces(rs.cfg.Data, rs.cfg.Browser, rs.cfg.Browsers, added)
}

func browserPlaces(data, given string, folders, added []string) shim.Places {
	return shim.Places{Given: given, Added: added, Folders: folders, Installed: filepath.Join(data, "browsers")}
}

// installedMajor is the default browser's major version, "" while none was found.
func (rs *runs) installedMajor() string {
	if f := rs.found.Load(); f != nil {
		return strconv.Itoa(f.Major)
	}
	return ""
}

// choose picks the browser that runs a profile, and notes in its plan how well it fits. One that is older than the profile's data is
// refused, also where another would do: which one runs a profile is never a surprise.
func (rs *runs) choose(ctx context.Context, p *plan, downgrade bool) (b shim.Installed, err error) {
	if b, err = rs.browser(ctx); err != nil {
		return b, browserNotFound(err)
	}
	p.match = "exact"
	if declared, err := strconv.Atoi(p.row.BrowserVersion); err == nil && declared != b.Major {
		have, err := rs.browsers(ctx)
		if err != nil {
			return b, browserNotFound(err)
		}
		var exact bool
		if b, exact = shim.ChooseBrowser(have, declared); !exact {
			p.match = "nearest"
		}
	}
	last, major := shim.LastOpened(rs.profileDir(p.row.ID))
	if b.Major >= major {
		return b, nil
	}
	if !downgrade {
		return b, browserTooOld(last, major, b)
	}
	p.snapshot = last
	return b, nil
}

func browserTooOld(last string, major int, b shim.Installed) *problem.Error {
	return problem.New(problem.Conflict, "browser_too_old", fmt.Sprintf("The profile was last opened with version %s, and would now be with %s %s, which would damage what the newer one wrote. "+
		"Let browserVersion name a version from %d on, and install one where there is none (`warren browser install %d`), or start with {\"allowDowngrade\":true}: then the profile's data are copied first.", last, b.Product, b.Version, major, major))
}

// keepSnapshot copies the data of a profile that an older browser is to open. The run's owner calls it, so that nobody else starts it.
func (rs *runs) keepSnapshot(ctx context.Context, p *plan) error {
	if p.snapshot == "" {
		return nil
	}
	path, err := shim.Snapshot(ctx, p.spec.ProfileDir, p.snapshot)
	if err != nil {
		return startProblem(err)
	}
	rs.log.Info("a profile was copied before an older browser opens it", "profile", p.row.ID, "from", p.snapshot, "to", p.installed.Version, "copy", path)
	p.warnings = append(p.warnings, warningJSON{"downgraded", fmt.Sprintf("The profile was last opened with version %s, and an older browser may damage or lose what that one wrote. Its data from before are in %s.", p.snapshot, path)})
	return nil
}

// addedBrowsers is what browsers.json in the data folder holds.
type addedBrowsers struct {
	Paths []string `json:"paths"`
}

func addedFile(data string) string { return filepath.Join(data, "browsers.json") }

// readAdded gives the programs that `warren browser add` has added to a data folder.
func readAdded(data string) ([]string, error) {
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

func writeAdded(data string, paths []string) error {
	text, err := json.Marshal(addedBrowsers{Paths: paths})
	if err != nil {
		return err
	}
	return store.WriteFile(addedFile(data), string(text)+"\n")
}
