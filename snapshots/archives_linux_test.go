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
		to.room = func(string) (uint64, uint64, bool) { return 0, 0, false }                   // each write shall fail once
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

// TestImportLeavesRoom: an import is refused before the disk is full, at its body or at its data, and leaves nothing.
func TestImportLeavesRoom(t *testing.T) {
	t.Parallel()
	from := newRig(t)
	p := from.profile()
	from.put(p.ID, map[string]string{"chrome/Default/Cookies": "text"})
	b := from.export(p.ID)
	to := newRig(t)
	const total = 200 << 20 // of which a twentieth is the reserve
	for free, fits := range map[uint64]bool{0: false, 10<<20 + lookAgain - 1: false, 10<<20 + lookAgain: true} {
		to.room = func(string) (uint64, uint64, bool) { return free, total, true }
		if _, err := to.take(bytes.Clone(b)); fits != (err == nil) {
			t.Errorf("with %d bytes free: %v", free, err)
		} else if !fits {
			wantCode(t, err, "disk_full")
		}
	}
	looks := 0
	to.room = func(string) (uint64, uint64, bool) { // less than the data need, once the body is there
		looks++
		return 10<<20 + lookAgain*uint64(2-looks) + uint64(len(b)) - 1, total, true
	}
	packsThere, trees := to.objects()
	if _, err := to.take(bytes.Clone(b)); looks != 2 {
		t.Errorf("%d looks, %v", looks, err)
	} else {
		wantCode(t, err, "disk_full")
	}
	if packsNow, treesNow := to.objects(); packsNow != packsThere || treesNow != trees || len(to.hidden()) > 0 {
		t.Errorf("%d packs, %d trees and %q are left", packsNow-packsThere, treesNow-trees, to.hidden())
	}
	if free, total, known := roomAt(to.data); !known || free == 0 || free > total {
		t.Errorf("the disk has %d of %d bytes, %v", free, total, known)
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
