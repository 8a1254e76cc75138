package store

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCopy: a copy has everything that was acknowledged before, is closed to others, and opens.
func TestCopy(t *testing.T) {
	t.Parallel()
	dir, to := t.TempDir(), t.TempDir()
	s := openIn(t, dir, Options{})
	ensure(t, s, "default")
	p := putProfile(t, s, aProfile("default", "p"))
	if err := Copy(t.Context(), dir, filepath.Join(to, FileName)); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(to, FileName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	copied := openIn(t, to, Options{SecretKeyFile: filepath.Join(dir, secretKeyName)})
	if row, err := copied.Read().GetProfile(t.Context(), GetProfileParams{ID: p.ID}); err != nil || row.Name != "p" {
		t.Errorf("%+v, %v", row, err)
	}
	if err := Copy(t.Context(), dir, filepath.Join(to, FileName)); err == nil {
		t.Error("a file was replaced")
	}
	if err := Copy(t.Context(), t.TempDir(), filepath.Join(to, "other")); err == nil {
		t.Error("a folder without a database was copied")
	}
}
