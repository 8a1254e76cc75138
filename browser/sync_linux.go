package browser

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncAll brings everything of path's file system to the disk: a folder of thousands of files at once (syncfs(2)).
func syncAll(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}
