//go:build !windows

package builds

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"warren/browser"
	"warren/testnet"
)

// fakeBuild writes a program that answers --version with a version, and logs the call in asked. It replaces builds of many versions, which
// no machine has.
func fakeBuild(t *testing.T, path, version, asked string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("#!/bin/sh\necho %s >> '%s'\necho Google Chrome for Testing %s\n", version, asked, version)
	testnet.WriteProgram(t, path, text)
}

// TestCatalog: builds are found in all known layouts, each once. An unchanged program is asked once for its version.
func TestCatalog(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	dir, asked := t.TempDir(), filepath.Join(t.TempDir(), "asked")
	at := func(path string) string { return filepath.Join(dir, path) }
	layouts := map[string]string{
		"folder/124.0.6367.207/chrome-linux64/chrome":         "124.0.6367.207",
		"folder/chromium-1140/chrome-linux/chrome":            "131.0.6778.33",
		"folder/chrome/linux-120.0.1.2/chrome-linux64/chrome": "120.0.1.2",
		"folder/by hand [x]/chromium":                         "119.0.1.1",
		"folder/a/b/c/chrome":                                 "1.2.3.4", // too deep
		"folder/.new-1/chrome-linux64/chrome":                 "1.2.3.5", // being unpacked
		"folder/124.0.6367.207/chrome-linux64/x/chrome":       "1.2.3.6", // inside a build
		"single/chrome": "118.0.1.1",
		"installed/150.0.7871.100/chrome-linux64/chrome": "150.0.7871.100",
		"added/my browser": "140.0.7339.80",
		"given":            "156.0.8078.79",
	}
	for path, version := range layouts {
		fakeBuild(t, at(path), version, asked)
	}
	for link, target := range map[string]string{
		"folder/round": at("folder"), "folder/again": at("folder/124.0.6367.207"), "single/gone": at("nowhere")} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	places := Places{Given: at("given"), Added: []string{at("added/my browser"), at("added/gone"), at("given")},
		Folders: []string{at("folder"), at("single"), at("none")}, Installed: at("installed")}
	want := []string{"default 156.0.8078.79", "added 140.0.7339.80", "folder 118.0.1.1", "folder 119.0.1.1", "folder 120.0.1.2",
		"folder 124.0.6367.207",
		"folder 131.0.6778.33", "installed 150.0.7871.100"}
	var c Catalog
	look := func() (got []string) {
		t.Helper()
		found, err := c.List(t.Context(), places)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range found {
			if b.Source != SourceUsual { // of this machine
				got = append(got, string(b.Source)+" "+b.Version)
			}
		}
		slices.Sort(got[1:])
		return got
	}
	if got := look(); !slices.Equal(got, want) {
		t.Errorf("found %q\nwant  %q", got, want)
	}
	look()
	text, _ := os.ReadFile(asked)
	if n := strings.Count(string(text), "124.0.6367.207"); n != 1 {
		t.Errorf("a build that does not change was asked %d times", n)
	}
	fakeBuild(t, at("added/my browser"), "141.0.1.1", asked)
	if err := os.Chtimes(at("added/my browser"), time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(at("installed/150.0.7871.100")); err != nil {
		t.Fatal(err)
	}
	want[1] = "added 141.0.1.1"
	if got := look(); !slices.Equal(got, want[:7]) {
		t.Errorf("after an update and a removal: %q", got)
	}
}

// TestCatalogDefault: without a browser on PATH and in the usual places, the first one that was added or installed is the default. A
// missing given one is never replaced.
func TestCatalogDefault(t *testing.T) {
	for _, place := range browser.UsualPlaces() {
		if _, err := browser.Locate(place); err == nil {
			t.Skipf("there is a browser in a usual place: %s", place)
		}
	}
	t.Setenv("PATH", t.TempDir())
	dir := t.TempDir()
	fakeBuild(t, filepath.Join(dir, "150.0.7871.100/chrome-linux64/chrome"), "150.0.7871.100", filepath.Join(dir, "asked"))
	var c Catalog
	if found, err := c.List(t.Context(), Places{Installed: dir}); err != nil || len(found) != 1 || found[0].Source != SourceDefault ||
		found[0].Major != 150 {
		t.Errorf("%+v, %v", found, err)
	}
	if found, err := c.List(t.Context(), Places{Installed: dir, Given: filepath.Join(dir, "none")}); err == nil {
		t.Errorf("%+v in place of the given one", found)
	}
}
