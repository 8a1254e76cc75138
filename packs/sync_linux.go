package packs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncFileSystem waits until the disk has everything of the file system that a folder is on, which is faster than a wait for each of a
// thousand files (syncfs(2)). done is false where that is not known to work.
func syncFileSystem(dir string) (done bool, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return false, err
	}
	return true, errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}
