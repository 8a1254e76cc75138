package shim

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Names the files of a run that its server reads.

func socketPath(dir, name string) string { return filepath.Join(dir, name+".sock") }
func endPath(dir, name string) string    { return filepath.Join(dir, name+".end") }

// writeEnd writes the report atomically.
func writeEnd(dir, name string, e End) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return replaceFile(endPath(dir, name), filepath.Join(dir, "."+name+".end"), b)
}

// Names lists the runs that have files in dir.
func Names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	seen, out := map[string]bool{}, []string{}
	for _, e := range entries {
		name, ext, ok := strings.Cut(e.Name(), ".")
		if ok && name != "" && (ext == "sock" || ext == "take" || ext == "end" || ext == "log") && !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out, err
}

// replaceFile writes a file atomically, by way of another one.
func replaceFile(file, half string, text []byte) error {
	if err := os.WriteFile(half, text, 0o600); err != nil {
		return err
	}
	return os.Rename(half, file)
}
