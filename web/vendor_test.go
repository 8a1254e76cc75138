package web

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"regexp"
	"testing"
)

// TestVendoredFilesAreAsReleased compares each vendored file with the sum in vendor/README.md, and finds files that
// it does not name.
func TestVendoredFilesAreAsReleased(t *testing.T) {
	readme, err := files.ReadFile("vendor/README.md")
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\S+) \| \S+ \| ([0-9a-f]{64}) \|$`).FindAllStringSubmatch(string(readme), -1) {
		sums[m[1]] = m[2]
	}
	entries, err := fs.ReadDir(files, "vendor")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "README.md" {
			continue
		}
		body, err := files.ReadFile("vendor/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(body)
		if got, want := hex.EncodeToString(sum[:]), sums[e.Name()]; got != want {
			t.Errorf("%s: sum is %s, the README says %q", e.Name(), got, want)
		}
		delete(sums, e.Name())
	}
	for name := range sums {
		t.Errorf("the README names %s, which is not there", name)
	}
}
