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
	"syscall"
)

// removeStaleLock removes the lock of a browser that has died. Chrome's lock is a link "SingletonLock" to "host-pid"
// (chrome/browser/process_singleton_posix.cc). The caller holds the profile's own lock, so a link from another host is stale too; Chrome
// would exit with 21 because of it. If a browser runs with this profile, removeStaleLock fails with a *StartError of kind StartLocked.
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

// lockHolder returns the process id in a lock of this host, 0 for one of another host.
func lockHolder(link string) int {
	host, err := os.Hostname()
	dash := strings.LastIndexByte(link, '-')
	if err != nil || dash < 0 || link[:dash] != host {
		return 0
	}
	pid, _ := strconv.Atoi(link[dash+1:])
	return pid
}

// runsWith reports whether a process is a browser with this profile. A process id alone proves nothing, since ids are reused.
func runsWith(pid int, userDataDir string) bool {
	for _, arg := range commandLine(pid) {
		dir, ok := strings.CutPrefix(arg, "--user-data-dir=")
		if ok && filepath.Clean(dir) == filepath.Clean(userDataDir) {
			return true
		}
	}
	return false
}

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
