package browser

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Keeps the tabs of the last session from a run that has none: Chrome replaces them at each start. They lie beside meanwhile.

// sessionFolders are Chrome's folders of tabs (components/sessions/core/command_storage_backend.cc).
func sessionFolders() []string { return []string{"Sessions", "Sessions_Encrypted"} }

// Each folder is moved by one rename, and an empty one stands for none.

// settleSession puts the tabs aside for a run that is offline. For any other it puts back those that a crash left aside.
func settleSession(s *Spec) error {
	if err := restoreSession(s.UserDataDir); err != nil || !s.Offline {
		return err
	}
	dir := filepath.Join(s.UserDataDir, profileFolder)
	var err error
	for _, name := range sessionFolders() {
		moved := os.Rename(filepath.Join(dir, name), ownSession(dir, name))
		if errors.Is(moved, fs.ErrNotExist) { // there are no tabs, and none must come
			moved = os.MkdirAll(ownSession(dir, name), 0o700)
		}
		err = errors.Join(err, moved)
	}
	return err
}

func ownSession(dir, name string) string { return filepath.Join(dir, "Own "+name) }

// restoreSession puts tabs back that lie aside. What a run without tabs has written goes.
func restoreSession(userDataDir string) (err error) {
	dir := filepath.Join(userDataDir, profileFolder)
	for _, name := range sessionFolders() {
		aside := ownSession(dir, name)
		if _, missing := os.Lstat(aside); errors.Is(missing, fs.ErrNotExist) {
			continue
		}
		failed := os.RemoveAll(filepath.Join(dir, name))
		if failed == nil {
			failed = os.Rename(aside, filepath.Join(dir, name))
		}
		err = errors.Join(err, failed)
	}
	return err
}
