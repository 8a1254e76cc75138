package shim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"warren/browser"
)

// Gives a run its extensions. Those that the browser only reads are shared by all profiles. It writes beside the files of those with lists
// of rules (_metadata/generated_indexed_rulesets), so these are copied.

// copiesDir is the folder of a profile's copies. It lies among what no snapshot keeps, and each start makes it anew.
func copiesDir(profileDir string) string {
	return filepath.Join(homeDir(profileDir), "cache", "extensions")
}

// extensions returns the extensions with the paths that the browser loads.
func (s Spec) extensions() (out []browser.Extension) {
	for _, e := range s.Extensions {
		path := e.Path
		if e.Copy {
			path = filepath.Join(copiesDir(s.ProfileDir), e.ID)
		}
		out = append(out, browser.Extension{ID: e.ID, Path: path, Confined: e.Confined})
	}
	return out
}

// copyExtensions makes the copies.
func (s Spec) copyExtensions() error {
	err := os.RemoveAll(copiesDir(s.ProfileDir))
	for i, e := range s.extensions() {
		if s.Extensions[i].Copy {
			err = errors.Join(err, copyExtension(e.Path, s.Extensions[i].Path))
		}
	}
	return err
}

func copyExtension(to, from string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return fmt.Errorf("copy the extension %s: %w", filepath.Base(to), err)
	}
	return nil
}
