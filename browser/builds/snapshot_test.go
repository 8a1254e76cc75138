//go:build !windows

package builds

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// TestSnapshot: everything but caches is copied with its mode, links as links. A failed snapshot leaves nothing.
func TestSnapshot(t *testing.T) {
	dir := t.TempDir()
	data, folder := filepath.Join(dir, "chrome"), filepath.Join(dir, "snapshots")
	write := func(rel string, mode fs.FileMode) {
		t.Helper()
		path := filepath.Join(data, rel)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(rel), mode); err != nil {
			t.Fatal(err)
		}
	}
	kept := []string{"Default/Cookies", "Default/Extensions/x/1/Cache/a", "Default/Service Worker/CacheStorage/a", "Last Version", "run.sh"}
	for _, rel := range append([]string{"Default/Cache/a", "Default/Code Cache/js/a", "ShaderCache/a", "GrShaderCache/a"}, kept...) {
		write(rel, 0o600)
	}
	if err := errors.Join(os.Chmod(filepath.Join(data, "run.sh"), 0o700), os.Symlink("/nowhere", filepath.Join(data, "link")),
		os.Symlink("host-1", filepath.Join(data, "SingletonLock")),
		syscall.Mkfifo(filepath.Join(data, "pipe"), 0o600), os.MkdirAll(filepath.Join(folder, ".new-earlier"), 0o700)); err != nil {
		t.Fatal(err)
	}
	path, err := Snapshot(t.Context(), data, folder, "156.0.1.1-now")
	if err != nil || path != filepath.Join(folder, "156.0.1.1-now") {
		t.Fatal(path, err)
	}
	var got []string
	filepath.WalkDir(path, func(p string, d fs.DirEntry, _ error) error {
		rel, _ := filepath.Rel(path, p)
		info, _ := d.Info()
		switch {
		case d.IsDir() && info.Mode().Perm() != 0o700:
			t.Errorf("%s has mode %o", rel, info.Mode().Perm())
		case d.IsDir():
		case rel == "link":
			if to, err := os.Readlink(p); to != "/nowhere" {
				t.Errorf("the link goes to %q, %v", to, err)
			}
		default:
			got = append(got, rel)
			text, _ := os.ReadFile(p)
			if want := map[bool]fs.FileMode{true: 0o700, false: 0o600}[rel == "run.sh"]; string(text) != rel || info.Mode().Perm() != want {
				t.Errorf("%s: %q, mode %o", rel, text, info.Mode().Perm())
			}
		}
		return nil
	})
	if slices.Sort(kept); !slices.Equal(got, kept) {
		t.Errorf("copied %q\nwant   %q", got, kept)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Snapshot(ctx, data, folder, "cancelled")
	all, _ := os.ReadDir(folder)
	if !errors.Is(err, context.Canceled) || len(all) != 1 || all[0].Name() != "156.0.1.1-now" {
		t.Errorf("%v; %v is there", err, all)
	}
}

func TestLastOpened(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]int{"": 0, "156.0.8078.79": 156, "150.0.7871.100\n": 150, "156": 0, "a.b.c.d": 0} {
		if err := os.WriteFile(filepath.Join(dir, "Last Version"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if version, major := LastOpened(dir); major != want || (major == 0) != (version == "") {
			t.Errorf("%q: %q, %d", text, version, major)
		}
	}
	if version, major := LastOpened(filepath.Join(dir, "none")); version != "" || major != 0 {
		t.Errorf("of none: %q, %d", version, major)
	}
}
