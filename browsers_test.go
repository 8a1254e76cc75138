//go:build !windows

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"warren/shim"
)

// fakeBuild writes a program that says it is a browser of that version. It stands for builds that no machine has; none of these is started.
func fakeBuild(t testing.TB, version string, path ...string) string {
	t.Helper()
	program := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho Google Chrome for Testing "+version+"\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	return program
}

// warren runs a command in this process and returns what it printed.
func warren(t testing.TB, args ...string) (string, error) {
	t.Helper()
	var out, errs bytes.Buffer
	err := run(t.Context(), args, strings.NewReader(""), &out, &errs)
	return out.String(), err
}

// TestBrowsers: the server lists what was found, added and installed, sees changes without a restart, and runs a profile with the browser
// of its version.
func TestBrowsers(t *testing.T) {
	dir := t.TempDir()
	in124 := fakeBuild(t, "124.0.6367.207", dir, "builds", "124", "chrome-linux64", "chrome")
	added := fakeBuild(t, "140.0.7339.80", dir, "my chrome")
	a := newAPI(t, func(c *serveConfig) { c.Browsers = []string{filepath.Join(dir, "builds")} })
	installed := fakeBuild(t, "131.0.6778.204", a.dir, "browsers", "131.0.6778.204", "chrome-linux64", "chrome")
	list := func() (out []string) {
		t.Helper()
		a.srv.runs.listed.Store(nil) // ten seconds later
		r := a.do(t, "GET", "/browsers", nil).want(t, 200)
		r.equal(t, "data.0.source", "default")
		r.equal(t, "data.0.path", "/opt/chromium/chromium")
		var all list[browserListJSON]
		if err := json.Unmarshal(r.body, &all); err != nil || all.Total != int64(len(all.Data)) || all.HasMore || all.Page != 1 || all.Limit < len(all.Data) {
			t.Errorf("%+v, %v", all, err)
		}
		for _, b := range all.Data {
			if b.Source != "path" && b.Source != "usual" { // this machine's own
				out = append(out, fmt.Sprint(b.Source, " ", b.Version, " ", b.Major))
			}
		}
		return out
	}
	want := []string{"default 156.0.8078.79 156", "folder 124.0.6367.207 124", "installed 131.0.6778.204 131"}
	if got := list(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if out, err := warren(t, "browser", "add", added, "--data", a.dir); err != nil || !strings.Contains(out, "added Google Chrome for Testing 140.0.7339.80") {
		t.Errorf("add: %q, %v", out, err)
	}
	want = slices.Insert(want, 1, "added 140.0.7339.80 140")
	if got := list(); !slices.Equal(got, want) {
		t.Errorf("with an added one: %q, want %q", got, want)
	}
	for version, want := range map[string]string{"": "/opt/chromium/chromium exact", "156": "/opt/chromium/chromium exact", "124": in124 + " exact", "125": installed + " nearest", "131": installed + " exact", "140": added + " exact", "120": in124 + " nearest"} {
		p := plan{}
		p.row.BrowserVersion = version
		if b, err := a.srv.runs.choose(t.Context(), &p, false); err != nil || b.Path+" "+p.match != want {
			t.Errorf("version %q: %s %s, %v; want %s", version, b.Path, p.match, err, want)
		}
	}
	if _, err := warren(t, "browser", "remove", added, "--data", a.dir); err != nil {
		t.Error(err)
	}
	wrapper := fakeBuild(t, "141.0.0.0", dir, "wrapped", "google-chrome")
	fakeBuild(t, "141.0.0.0", dir, "wrapped", "chrome")
	for _, what := range []string{"add", "remove"} {
		if out, err := warren(t, "browser", what, wrapper, "--data", a.dir); err != nil {
			t.Errorf("%s by the wrapper: %q, %v", what, out, err)
		}
	}
	if _, err := warren(t, "browser", "remove", "131.0.6778.204", "--data", a.dir); err != nil || exists(installed) {
		t.Errorf("the removed build is there: %v, %v", exists(installed), err)
	}
	if got := list(); !slices.Equal(got, want[:1:1]) && !slices.Equal(got, []string{want[0], want[2]}) {
		t.Errorf("after the removals: %q", got)
	}
	if err := os.WriteFile(addedFile(a.dir), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := list(); !slices.Equal(got, []string{want[0], want[2]}) || !strings.Contains(a.log.String(), "browsers.json") {
		t.Errorf("with a list that cannot be read: %q", got)
	}
	if _, err := warren(t, "browser", "add", added, "--data", a.dir); err == nil {
		t.Error("a list that cannot be read was written over")
	}
}

// TestBrowserTooOld: a profile is not opened with an older browser than last time; a dry run says so too, and leaves nothing.
func TestBrowserTooOld(t *testing.T) {
	t.Parallel()
	needIsolation(t)
	a := newAPI(t)
	id := a.do(t, "POST", "/profiles", map[string]any{"name": "x"}).want(t, 201).text("id")
	folder := filepath.Join(a.dir, "profiles", id)
	if err := os.MkdirAll(filepath.Join(folder, "chrome"), 0o700); err != nil {
		t.Fatal(err)
	}
	for version, tooOld := range map[string]bool{"157.0.8100.1": true, "156.0.9999.1": false, "155.0.1.1": false, "?": false} {
		if err := os.WriteFile(filepath.Join(folder, "chrome", "Last Version"), []byte(version), 0o600); err != nil {
			t.Fatal(err)
		}
		r := a.do(t, "POST", "/profiles/"+id+"/start", map[string]any{"dryRun": true})
		if !tooOld {
			r.want(t, 200)
			continue
		}
		r.refused(t, 409, "browser_too_old")
		for _, part := range []string{version, "Chromium 156.0.8078.79", "allowDowngrade", "from 157 on"} {
			if !strings.Contains(r.text("detail"), part) {
				t.Errorf("%q does not name %s", r.text("detail"), part)
			}
		}
		a.do(t, "POST", "/profiles/"+id+"/start", map[string]any{"dryRun": true, "allowDowngrade": true}).want(t, 200)
		if exists(filepath.Join(folder, "snapshots")) {
			t.Error("a dry run made a snapshot")
		}
		a.do(t, "POST", "/profiles/"+id+"/start", map[string]any{"allowDowngrade": "yes"}).invalid(t, "body.allowDowngrade")
	}
}

// TestBrowserOfVersion runs profiles with two browsers, and one of them with the older. A build of another major is not to be had on every
// machine: a script stands for it that says an older version and becomes this machine's Chromium. It shows which program runs, what is refused,
// and what is copied; not what an older Chrome makes of a newer one's data.
func TestBrowserOfVersion(t *testing.T) {
	t.Parallel()
	chromium := needBrowser(t)
	g := newGround(t)
	real, err := shim.FindBrowser(t.Context(), chromium)
	if err != nil {
		t.Fatal(err)
	}
	old := real.Major - 6
	version := strconv.Itoa(old) + ".0.7871.100"
	build := fakeBuild(t, version, g.dir, "builds", version, "chrome")
	if err := os.WriteFile(build, fmt.Appendf(nil, "#!/bin/sh\n[ \"$1\" = --version ] && { echo Chromium %s; exit 0; }\nexec '%s' \"$@\"\n", version, chromium), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	s := g.serve("--browser", chromium, "--browsers", filepath.Join(g.dir, "builds"))
	type started struct {
		Browser  struct{ Path, Match string }
		Warnings []struct{ Code, Message string }
	}
	start := func(id string, body any) (v started) {
		t.Helper()
		s.do("POST", "/profiles/"+id+"/start", body, 200, &v)
		return v
	}
	fresh := s.profile(map[string]any{"browserVersion": strconv.Itoa(old - 1)})
	if v := start(fresh, nil); v.Browser.Path != build || v.Browser.Match != "nearest" {
		t.Errorf("a fresh profile of %d: %+v", old-1, v.Browser)
	}
	if _, err := shim.Snapshot(t.Context(), filepath.Join(g.data, "profiles", fresh), "1.1.1.1"); err == nil || exists(filepath.Join(g.data, "profiles", fresh, "snapshots")) {
		t.Errorf("what a run holds was copied: %v", err)
	}
	s.stop(fresh)
	id := s.profile(nil)
	if v := start(id, nil); v.Browser.Path != chromium || v.Browser.Match != "exact" {
		t.Errorf("of no version: %+v", v.Browser)
	}
	s.stop(id)
	s.do("PUT", "/profiles/"+id, map[string]any{"browserVersion": strconv.Itoa(old)}, 200, nil)
	p := s.refused("POST", "/profiles/"+id+"/start", nil, 409, "browser_too_old")
	if !strings.Contains(p.Detail, real.Version) || !strings.Contains(p.Detail, version) {
		t.Errorf("refused with %q", p.Detail)
	}
	if v := s.get(id); v.Status != "stopped" {
		t.Errorf("refused, the profile is %s", v.Status)
	}
	v := start(id, map[string]any{"allowDowngrade": true})
	if v.Browser.Path != build || v.Browser.Match != "exact" {
		t.Errorf("of %d: %+v", old, v.Browser)
	}
	snapshots, err := filepath.Glob(filepath.Join(g.data, "profiles", id, "snapshots", real.Version+"-*Z"))
	if err != nil || len(snapshots) != 1 || !slices.ContainsFunc(v.Warnings, func(w struct{ Code, Message string }) bool {
		return w.Code == "downgraded" && strings.Contains(w.Message, snapshots[0])
	}) {
		t.Fatalf("snapshots %q, %v; warnings %+v", snapshots, err, v.Warnings)
	}
	if last, _ := os.ReadFile(filepath.Join(snapshots[0], "Last Version")); string(last) != real.Version {
		t.Errorf("the snapshot is of version %q", last)
	}
	filepath.WalkDir(snapshots[0], func(p string, d fs.DirEntry, err error) error { //nolint:errcheck // what is missing shows
		if info, infoErr := d.Info(); err != nil || infoErr != nil || info.Mode().Perm()&0o077 != 0 && info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s: %v %v", p, info, err)
		}
		return nil
	})
	if !exists(filepath.Join(snapshots[0], "Default", "Preferences")) || exists(filepath.Join(snapshots[0], "Default", "Cache")) {
		t.Error("the snapshot has no preferences, or a cache")
	}
	s.stop(id)
}
