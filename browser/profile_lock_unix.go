//go:build !windows

package browser

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// removeStaleLock removes what a browser that died left behind to hold the profile. Chrome's lock is a link "SingletonLock" to "host-pid"
// (chrome/browser/process_singleton_posix.cc). Our caller holds the profile's own lock, so that a link from another host, which
// makes Chrome exit with 21, is left over too. A live browser with this profile is not touched: that is a *StartError "locked".
func removeStaleLock(userDataDir string) error {
	link, err := os.Readlink(filepath.Join(userDataDir, "SingletonLock"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		if pid := lockHolder(link); pid > 0 && runsWith(pid, userDataDir) {
			return &StartError{Kind: StartLocked, Err: fmt.Errorf("another browser runs with this profile: process %d", pid)}
		}
	}
	for _, name := range []string{"SingletonLock", "SingletonSocket", "SingletonCookie"} {
		if err := os.Remove(filepath.Join(userDataDir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a dead browser's lock: %w", err)
		}
	}
	return nil
}

// lockHolder returns the process id in a lock of this host, 0 for one of another.
func lockHolder(link string) int {
	host, err := os.Hostname()
	dash := strings.LastIndexByte(link, '-')
	if err != nil || dash < 0 || link[:dash] != host {
		return 0
	}
	pid, _ := strconv.Atoi(link[dash+1:])
	return pid
}

// runsWith reports whether the process is a browser of this profile: a number alone proves nothing, since numbers are used again.
func runsWith(pid int, userDataDir string) bool {
	for _, arg := range commandLine(pid) {
		dir, ok := strings.CutPrefix(arg, "--user-data-dir=")
		if ok && filepath.Clean(dir) == filepath.Clean(userDataDir) {
			return true
		}
	}
	return false
}
