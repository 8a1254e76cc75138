package store

import (
	"context"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// smallDisk mounts a file system of its own, which needs root.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a disk; the page limit of TestDatabaseThatMayNotGrow stands in for it")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("no disk of its own here: mount: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestDiskFull(t *testing.T) {
	dir := smallDisk(t, "size=2m")
	s := openIn(t, dir, Options{})
	ensure(t, s, "default")
	full(t, s)
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=4m"); err != nil {
		t.Fatal(err)
	}
	putProfile(t, s, aProfile("default", "after there was room again"))
	assertWhole(t, s)
}

func TestDiskFullAtOpen(t *testing.T) {
	for _, size := range []string{"size=4k", "size=64k", "size=200k"} {
		dir := smallDisk(t, size)
		s, err := Open(context.Background(), dir, Options{})
		if err == nil {
			_ = s.Close()
		}
		if !errors.Is(err, ErrDiskFull) {
			t.Errorf("%s: got %v, want ErrDiskFull", size, err)
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=4m"); err != nil {
			t.Fatal(err)
		}
		assertWhole(t, openIn(t, dir, Options{}))
	}
}

func TestReadOnlyDisk(t *testing.T) {
	dir := smallDisk(t, "size=4m")
	s, err := Open(context.Background(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ensure(t, s, "default")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, "size=4m"); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, ErrReadOnly, "--data")
	if _, err := Open(context.Background(), dir+"/new", Options{}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a folder that cannot be made: got %v, want ErrReadOnly", err)
	}
}
