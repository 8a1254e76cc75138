package builds

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// smallDisk mounts a file system of this size until the test ends, and returns its folder.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a small file system")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("needs to mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("the small file system stays: %v", err)
		}
	})
	return dir
}

// TestSnapshotOnFullDisk: a copy that does not fit fails, and no part of it stays.
func TestSnapshotOnFullDisk(t *testing.T) {
	data, folder := t.TempDir(), smallDisk(t, "1m")
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(data, name), make([]byte, 800<<10), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Snapshot(t.Context(), data, filepath.Join(folder, "snapshots"), "1.1.1.1-now")
	if names := left(t, filepath.Join(folder, "snapshots")); !errors.Is(err, syscall.ENOSPC) || len(names) > 0 {
		t.Errorf("%v; left %v", err, names)
	}
}
