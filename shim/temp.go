package shim

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// tempPrefixes are the prefixes of all runs' temporary folders. Those of older versions have no common parent folder.
func tempPrefixes() (out []string) {
	for _, dir := range []string{os.TempDir(), "/tmp"} {
		out = append(out, filepath.Join(dir, "warren-"), filepath.Join(dir, tempParent())+string(filepath.Separator))
	}
	return out
}

// tempParent is the name of the folder that holds the temporary folders of this user's runs.
func tempParent() string { return "warren-" + strconv.Itoa(os.Geteuid()) }

// tempDir is the browser's own folder for temporary files. Its path must be short: Chrome opens sockets in it.
func tempDir(name string) string {
	all := tempParent()
	if dir := filepath.Join(os.TempDir(), all, name); len(dir) <= 57 || runtime.GOOS == "windows" {
		return dir
	}
	return filepath.Join("/tmp", all, name)
}

// makeTemp creates the folder and its parent. Where everybody may create folders, another user may have created the
// parent. So makeTemp refuses one that is not this user's alone.
func makeTemp(name string) error {
	dir := tempDir(name)
	all := filepath.Dir(dir)
	for {
		if err := os.MkdirAll(all, 0o700); err != nil {
			return err
		}
		info, err := os.Lstat(all)
		if err == nil && !isOwn(info) {
			return &Failure{Kind: "taken", Message: all +
				" must be a folder that only warren's user can read: remove it, or set TMPDIR to another folder"}
		}
		if err == nil {
			err = os.Mkdir(dir, 0o700)
		}
		switch {
		case err == nil || errors.Is(err, fs.ErrExist):
			return nil // from here on the parent is not removed
		case !errors.Is(err, fs.ErrNotExist): // otherwise another run's end has just removed the parent
			return err
		}
	}
}

// removeTemp removes the folder, and its parent if that is empty.
func removeTemp(name string) error {
	err := os.RemoveAll(tempDir(name))
	os.Remove(filepath.Dir(tempDir(name))) //nolint:errcheck // other runs may use it
	return err
}
