package testnet

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Template returns a function that copies into a folder the files which fill has written into an empty one. fill is called once, when the
// first test needs it. A test that begins with a new database copies one: its migrations take a second under the race detector.
func Template(fill func(dir string) error) func(t testing.TB, dir string) {
	files := sync.OnceValues(func() (map[string][]byte, error) {
		dir, err := os.MkdirTemp("", "warren-template")
		if err != nil {
			return nil, err
		}
		files, err := filled(dir, fill)
		return files, errors.Join(err, os.RemoveAll(dir))
	})
	return func(t testing.TB, dir string) {
		t.Helper()
		texts, err := files()
		for name, text := range texts {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// filled calls fill and reads what it has written.
func filled(dir string, fill func(dir string) error) (map[string][]byte, error) {
	if err := fill(dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	files := make(map[string][]byte, len(entries))
	for _, e := range entries {
		text, failed := os.ReadFile(filepath.Join(dir, e.Name()))
		files[e.Name()], err = text, errors.Join(err, failed)
	}
	return files, err
}
