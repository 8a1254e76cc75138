package builds

import (
	"crypto/rand"
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// TestInstallOnFullDisk: a build that does not fit fails with the disk's error, while it is fetched and while it is unpacked. Nothing
// of it stays.
func TestInstallOnFullDisk(t *testing.T) {
	noise := make([]byte, 800<<10) // does not shrink in the archive
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]string{"fetching": "400k", "unpacking": "1200k"} {
		dir := smallDisk(t, size)
		good := chromeZip(t, "124.0.6367.207", entry{"chrome-linux64/noise", string(noise), 0o644})
		s := testMirror(t, map[string]any{
			"/" + indexName: listOf(t, [2]string{"124.0.6367.207", `"url":"b.zip","sha256":"` + sumOf(good) + `"`}), "/b.zip": good})
		folder := filepath.Join(dir, "browsers")
		_, _, err := Install(t.Context(), Installation{Mirror: s.URL, Version: "124", Folder: folder})
		if names := left(t, folder); !errors.Is(err, syscall.ENOSPC) || len(names) > 0 {
			t.Errorf("%s: %v; left %v", name, err, names)
		}
	}
}
