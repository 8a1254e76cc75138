//go:build !windows

package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"warren/shim"
)

// TestBrowserOfVersion runs profiles with two browsers, and one of them with the older. A script stands for the older
// build: it tells an older version and becomes this machine's Chromium. The test shows which program runs, what is
// refused and what is copied. It does not show what an older Chrome makes of newer data.
func TestBrowserOfVersion(t *testing.T) {
	t.Parallel()
	chromium := needBrowser(t)
	g := newTestbed(t)
	real, err := shim.FindBrowser(t.Context(), chromium)
	if err != nil {
		t.Fatal(err)
	}
	old := real.Major - 6
	version := strconv.Itoa(old) + ".0.7871.100"
	build := filepath.Join(g.dir, "builds", version, "chrome")
	if err := os.MkdirAll(filepath.Dir(build), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(build, fmt.Appendf(nil, "#!/bin/sh\n[ \"$1\" = --version ] && { echo Chromium %s; exit 0; }\nexec '%s' \"$@\"\n",
		version, chromium), 0o700); err != nil { //nolint:gosec // a program
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
	if _, err := shim.LockFolder(filepath.Join(g.data, "profiles", fresh)); err == nil {
		t.Error("what a run holds was locked")
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
	kept := s.snapshots(id)
	at := slices.IndexFunc(kept, func(k snapshotView) bool { return k.Reason == "before_downgrade" })
	if at < 0 || !kept[at].Pinned || kept[at].BrowserVersion != real.Version ||
		!slices.ContainsFunc(v.Warnings, func(w struct{ Code, Message string }) bool {
			return w.Code == "downgraded" && strings.Contains(w.Message, kept[at].ID)
		}) {
		t.Fatalf("snapshots %+v; warnings %+v", kept, v.Warnings)
	}
	s.stop(id)
	s.do("POST", "/profiles/"+id+"/rollback", map[string]any{"snapshotId": kept[at].ID}, 200, nil)
	if last, _ := os.ReadFile(filepath.Join(g.data, "profiles", id, "chrome", "Last Version")); string(last) != real.Version {
		t.Errorf("rolled back to version %q", last)
	}
}
