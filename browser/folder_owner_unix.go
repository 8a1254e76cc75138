//go:build !windows

package browser

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ownFolder returns an error if an existing folder belongs to another user. Root could write it, but the browser, which runs without root's
// rights, could not.
func ownFolder(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("the profile's folder %s belongs to user %d, not to warren's user %d: chown -R %d %s", dir, st.Uid, os.Geteuid(),
			os.Geteuid(), dir)
	}
	return nil
}
