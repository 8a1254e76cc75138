package shim

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// tempDirs is what the paths of all runs' temporary folders begin with, those of older versions too, which lie in no folder of theirs.
func tempDirs() (out []string) {
	for _, dir := range []string{os.TempDir(), "/tmp"} {
		out = append(out, filepath.Join(dir, "warren-"), filepath.Join(dir, allTemp())+string(filepath.Separator))
	}
	return out
}

// allTemp is the name of the folder that holds those of all runs of this user's.
func allTemp() string { return "warren-" + strconv.Itoa(os.Geteuid()) }

// tempDir is the browser's own folder for temporary files, in one that holds those of all runs of this user's. Its path must be short: Chrome opens
// sockets in it.
func tempDir(name string) string {
	all := allTemp()
	if dir := filepath.Join(os.TempDir(), all, name); len(dir) <= 57 || runtime.GOOS == "windows" {
		return dir
	}
	return filepath.Join("/tmp", all, name)
}

// makeTemp makes it, and the folder that holds all. Where everybody may make folders, somebody else may have been quicker: that one must be this user's
// alone.
func makeTemp(name string) error {
	dir := tempDir(name)
	all := filepath.Dir(dir)
	for {
		if err := os.MkdirAll(all, 0o700); err != nil {
			return err
		}
		info, err := os.Lstat(all)
		if err == nil && !isOwn(info) {
			return &Failure{Kind: "taken", Message: all + " must be a folder that only warren's user can read: remove it, or set TMPDIR to another folder"}
		}
		if err == nil {
			err = os.Mkdir(dir, 0o700)
		}
		switch {
		case err == nil || errors.Is(err, fs.ErrExist):
			return nil // from here on nobody removes the folder around it
		case !errors.Is(err, fs.ErrNotExist): // else the last run of before ended in this moment
			return err
		}
	}
}

// removeTemp removes it, and the folder around it with the last one.
func removeTemp(name string) error {
	err := os.RemoveAll(tempDir(name))
	os.Remove(filepath.Dir(tempDir(name))) //nolint:errcheck // others may be in it
	return err
}
