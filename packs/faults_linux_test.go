package packs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// smallDisk mounts a file system until the test ends. The function gives it another size or number of files, such as size=1m.
func smallDisk(t *testing.T) (dir string, resize func(options string)) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a small file system")
	}
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("needs to mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("the small file system stays: %v", err)
		}
	})
	return dir, func(options string) {
		t.Helper()
		must(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, options))
	}
}

const roomy = "size=64m,nr_inodes=10000"

// grow tries with a disk that is larger each time, in bytes and then in files, until the whole passes.
func grow(t *testing.T, disk string, resize func(string), try func() bool) {
	t.Helper()
	for name, size := range map[string]func(n int) string{
		"bytes": func(n int) string { return fmt.Sprintf("size=%dk,nr_inodes=10000", 40+4*n) },
		"files": func(n int) string { return fmt.Sprintf("size=64m,nr_inodes=%d", 2+n) },
	} {
		n := 0
		for ; n < 300; n++ {
			empty(t, disk)
			resize(size(n))
			if try() {
				break
			}
		}
		if n < 4 || n == 300 {
			t.Errorf("with few %s it passes after %d faults", name, n)
		}
	}
}

// empty removes what is in a folder.
func empty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		must(t, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
}

// unfinishedBelow returns the files that a writer left.
func unfinishedBelow(t *testing.T, dir string) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, "*", "*"+unfinished+"*"))
	deep, err2 := filepath.Glob(filepath.Join(dir, "*", "*", "*"+unfinished+"*"))
	must(t, errors.Join(err, err2))
	return append(left, deep...)
}

// TestSaveOnFullDisk: whatever does not fit, a Save that fails leaves no tree and no half file; with room it succeeds.
func TestSaveOnFullDisk(t *testing.T) {
	t.Parallel()
	disk, resize := smallDisk(t)
	dir := filepath.Join(t.TempDir(), "tree")
	files := packsOf(300 << 10)
	write(t, dir, files)
	grow(t, disk, resize, func() bool {
		v, err := NewVault(Folder(filepath.Join(disk, "objects")), secret())
		must(t, err)
		o := SaveOptions{Subject: Subject{"t1", "w|p"}, Stamps: filepath.Join(disk, "stamps")}
		_, failed := v.Save(t.Context(), dir, o)
		trees := whole(t, v)
		if failed == nil && trees == 1 {
			return true
		}
		if left := unfinishedBelow(t, disk); !errors.Is(failed, syscall.ENOSPC) || trees > 0 || len(left) > 0 {
			t.Fatalf("%v; %d trees, %q is left", failed, trees, left)
		}
		resize(roomy)
		saved, err := v.Save(t.Context(), dir, o)
		must(t, err)
		to := filepath.Join(t.TempDir(), "to")
		must(t, v.Load(t.Context(), saved.Tree, to, LoadOptions{}))
		same(t, read(t, to), files)
		return false
	})
}

// TestLoadOnFullDisk: whatever does not fit, a Load that fails leaves the folder as it was and nothing beside it; with room it
// succeeds.
func TestLoadOnFullDisk(t *testing.T) {
	t.Parallel()
	disk, resize := smallDisk(t)
	v, _ := vault(t)
	from, dir := filepath.Join(t.TempDir(), "from"), filepath.Join(disk, "tree")
	before, after := map[string]string{"a": "old"}, packsOf(300<<10)
	write(t, from, after)
	saved, err := v.Save(t.Context(), from, SaveOptions{Subject: Subject{"t1", "w|p"}})
	must(t, err)
	grow(t, disk, resize, func() bool {
		if err := os.Mkdir(dir, 0o700); err != nil || os.WriteFile(filepath.Join(dir, "a"), []byte("old"), 0o600) != nil {
			return false // not even that has room
		}
		o := LoadOptions{Stamps: filepath.Join(disk, "stamps")}
		err := v.Load(t.Context(), saved.Tree, dir, o)
		if left, _ := filepath.Glob(dir + ".*"); len(left) > 0 {
			t.Fatalf("%q is left", left)
		}
		if err == nil {
			same(t, read(t, dir), after)
			return true
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%v", err)
		}
		same(t, read(t, dir), before)
		resize(roomy)
		must(t, v.Load(t.Context(), saved.Tree, dir, o))
		same(t, read(t, dir), after)
		return false
	})
}
