//go:build !windows

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"warren/runs"
	"warren/shim"
	"warren/testnet"
)

// TestBrowserCommands: browsers are added and removed by their program or its wrapper, and builds by their version; a
// list that cannot be read is not written over. runs.TestBrowsers has what the server makes of it.
func TestBrowserCommands(t *testing.T) {
	t.Parallel()
	dir, data := t.TempDir(), t.TempDir()
	added := testnet.FakeBrowser(t, "Google Chrome for Testing 140.0.7339.80", dir, "my chrome")
	installed := testnet.FakeBrowser(t, "Google Chrome for Testing 131.0.6778.204", data, "browsers", "131.0.6778.204",
		"chrome-linux64", "chrome")
	listed := func() string {
		all, err := runs.ReadAdded(data)
		if err != nil {
			t.Error(err)
		}
		return strings.Join(all, " ")
	}
	if out, err := warren(t, "browser", "add", added, "--data", data); err != nil ||
		!strings.Contains(out, "added Google Chrome for Testing 140.0.7339.80") {
		t.Errorf("add: %q, %v", out, err)
	}
	if got := listed(); got != added {
		t.Errorf("added: %s", got)
	}
	if _, err := warren(t, "browser", "remove", added, "--data", data); err != nil || listed() != "" {
		t.Errorf("removed: %v, %s", err, listed())
	}
	wrapper := testnet.FakeBrowser(t, "Google Chrome for Testing 141.0.0.0", dir, "wrapped", "google-chrome")
	testnet.FakeBrowser(t, "Google Chrome for Testing 141.0.0.0", dir, "wrapped", "chrome")
	for _, what := range []string{"add", "remove"} {
		if out, err := warren(t, "browser", what, wrapper, "--data", data); err != nil {
			t.Errorf("%s by the wrapper: %q, %v", what, out, err)
		}
	}
	if _, err := warren(t, "browser", "remove", "131.0.6778.204", "--data", data); err != nil || exists(installed) {
		t.Errorf("the removed build is there: %v, %v", exists(installed), err)
	}
	if err := os.WriteFile(filepath.Join(data, "browsers.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := warren(t, "browser", "add", added, "--data", data); err == nil {
		t.Error("a list that cannot be read was written over")
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestProgressLines: a download of minutes prints a line for each step and each quarter, not for each part.
func TestProgressLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	tell := progressLines(&out)
	tell(shim.InstallProgress{Step: shim.Looking})
	p := shim.InstallProgress{Step: shim.Downloading, Address: "https://mirror.example/b.zip", TotalBytes: 100 << 20}
	for ; p.DoneBytes <= p.TotalBytes; p.DoneBytes += 1 << 20 {
		tell(p)
	}
	p.Step = shim.Unpacking
	tell(p)
	want := "fetching https://mirror.example/b.zip\nfetched 0 % of 100 MiB\nfetched 25 % of 100 MiB\nfetched 50 % of 100 MiB\n" +
		"fetched 75 % of 100 MiB\nfetched 100 % of 100 MiB\nunpacking\n"
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}
