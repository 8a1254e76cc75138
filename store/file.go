package store

import (
	"errors"
	"os"
	"path/filepath"
)

// WriteFile writes a file of the data folder whole or not at all, with mode 0600, and on the disk when it returns.
func WriteFile(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it has its name by then
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
