//go:build linux || darwin

package packs

import (
	"io/fs"
	"os"
	"syscall"
)

// stampOf returns the stamp of a file; ok is whether the file system tells enough.
func stampOf(info fs.FileInfo) (s stamp, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, false
	}
	return stamp{info.Size(), info.ModTime().UnixNano(), changedAt(st), st.Ino}, true
}

// syncFolder waits until the disk knows what the folder holds.
func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // it was only read
	return dir.Sync()
}
