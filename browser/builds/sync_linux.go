package builds

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncAll flushes the whole file system of path, which is faster than thousands of fsync calls (syncfs(2)).
func syncAll(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}
