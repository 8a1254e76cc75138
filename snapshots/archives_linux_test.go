package snapshots

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"warren/events"
)

// TestImportOnFullDisk: whatever does not fit, an import is refused with disk_full and leaves nothing; with room it succeeds.
func TestImportOnFullDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a small file system")
	}
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("needs to mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Errorf("the small file system stays: %v", err)
		}
	})
	from := newRig(t)
	p := from.profile()
	noise := make([]byte, 300<<10)
	rand.NewChaCha8([32]byte{1}).Read(noise) //nolint:errcheck // it never fails
	from.put(p.ID, map[string]string{"chrome/Default/Cookies": string(noise)})
	b := from.export(p.ID)
	for name, size := range map[string]func(n int) string{
		"bytes": func(n int) string { return fmt.Sprintf("size=%dk,nr_inodes=10000", 40+40*n) },
		"files": func(n int) string { return fmt.Sprintf("size=64m,nr_inodes=%d", 2+n) },
	} {
		to := &rig{New(disk, slog.New(slog.DiscardHandler), newRig(t).store, events.New()), t} // its database is elsewhere
		n := 0
		for ; n < 100; n++ {
			if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, size(n)); err != nil {
				t.Fatal(err)
			}
			if _, err := to.take(bytes.Clone(b)); err == nil {
				break
			} else {
				wantCode(t, err, "disk_full")
			}
			if packsThere, trees := to.objects(); packsThere+trees > 0 || len(to.hidden()) > 0 || len(unfinished(t, disk)) > 0 {
				t.Fatalf("%d packs, %d trees, %q and %q are left", packsThere, trees, to.hidden(), unfinished(t, disk))
			}
		}
		if n < 3 || n == 100 {
			t.Errorf("with few %s it passes after %d faults", name, n)
		}
		if err := os.RemoveAll(filepath.Join(disk, "snapshots")); err != nil {
			t.Fatal(err)
		}
	}
}

// unfinished lists the files below a folder that are no objects.
func unfinished(t *testing.T, dir string) (out []string) {
	t.Helper()
	for _, pattern := range []string{"*/*/.*", "*/*/*/.*"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, found...)
	}
	return out
}
