//go:build !windows

package runs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"warren/testnet"
)

// TestBrowsers: found, added and installed browsers are listed. Changes show without a restart. A profile runs in the
// browser of its version.
func TestBrowsers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in124 := testnet.FakeBrowser(t, "Google Chrome for Testing 124.0.6367.207", dir, "builds", "124", "chrome-linux64", "chrome")
	added := testnet.FakeBrowser(t, "Google Chrome for Testing 140.0.7339.80", dir, "my chrome")
	a := newRig(t, func(c *Config) { c.Browsers = []string{filepath.Join(dir, "builds")} })
	standard := a.cfg.Browser
	installed := testnet.FakeBrowser(t, "Google Chrome for Testing 131.0.6778.204", a.dir, "browsers", "131.0.6778.204",
		"chrome-linux64", "chrome")
	list := func() (out []string) {
		t.Helper()
		a.listed.Store(nil) // as after listMaxAge
		all, err := a.Browsers(t.Context())
		if err != nil || all[0].Path != standard {
			t.Fatalf("%+v, %v", all, err)
		}
		for _, b := range all {
			if b.Source != "path" && b.Source != "usual" { // installed on the test machine
				out = append(out, fmt.Sprint(b.Source, " ", b.Version, " ", b.Major))
			}
		}
		return out
	}
	want := []string{"default 156.0.8078.79 156", "folder 124.0.6367.207 124", "installed 131.0.6778.204 131"}
	if got := list(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if err := WriteAdded(a.dir, []string{added}); err != nil {
		t.Fatal(err)
	}
	want = slices.Insert(want, 1, "added 140.0.7339.80 140")
	if got := list(); !slices.Equal(got, want) {
		t.Errorf("with an added one: %q, want %q", got, want)
	}
	for version, want := range map[string]string{"": standard + " exact", "156": standard + " exact", "124": in124 + " exact",
		"125": installed + " nearest",
		"131": installed + " exact", "140": added + " exact", "120": in124 + " nearest"} {
		p := plan{}
		p.row.BrowserVersion = version
		if b, err := a.chooseBrowser(t.Context(), &p, false); err != nil || b.Path+" "+p.match != want {
			t.Errorf("version %q: %s %s, %v; want %s", version, b.Path, p.match, err, want)
		}
	}
	if err := os.RemoveAll(filepath.Join(a.dir, "browsers")); err != nil {
		t.Fatal(err)
	}
	if got := list(); !slices.Equal(got, want[:3]) {
		t.Errorf("after a removal: %q", got)
	}
	if err := os.WriteFile(addedFile(a.dir), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := list(); !slices.Equal(got, []string{want[0], want[2]}) || !strings.Contains(a.log.String(), "browsers.json") {
		t.Errorf("with a list that cannot be read: %q", got)
	}
}
