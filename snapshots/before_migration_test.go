package snapshots

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"warren/store"
)

// TestBeforeMigration: a backup is a copy of the database, and links to its objects. Two stay. A migration that goes on, and a start that
// fails again and again, do not push out the one that an older version needs. What is not ours stays.
func TestBeforeMigration(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s, err := store.Open(t.Context(), data, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	write := func(name string) {
		path := filepath.Join(data, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("snapshots/packs/ab/abcd")
	write("extensions/sum/manifest.json")
	write("backups/before-mine/x")
	write("backups/.new-killed/warren.db")
	var folders []string
	for _, step := range []struct {
		m     store.Migration
		made  bool
		there []int // indexes of folders that must be there afterwards
	}{
		{store.Migration{From: 1, To: 3}, true, []int{0}},
		{store.Migration{From: 2, To: 3}, false, []int{0}},
		{store.Migration{From: 3, To: 4}, true, []int{0, 2}},
		{store.Migration{From: 3, To: 4}, true, []int{0, 3}}, // the first step failed, or the old version went on meanwhile
		{store.Migration{From: 4, To: 5}, true, []int{3, 4}},
	} {
		b, err := BeforeMigration(t.Context(), data, "2.0 β/..", step.m)
		if err != nil || b.Stuck != nil || b.Made != step.made {
			t.Fatalf("%+v: %+v, %v", step.m, b, err)
		}
		folders = append(folders, b.Folder)
		want := []string{filepath.Join(data, "backups/before-mine")}
		for _, i := range step.there {
			want = append(want, folders[i])
		}
		got, err := filepath.Glob(filepath.Join(data, "backups", "*"))
		if slices.Sort(want); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%+v: %v, want %v", step.m, got, want)
		}
	}
	for _, name := range []string{"snapshots/packs/ab/abcd", "extensions/sum/manifest.json"} {
		a, failed := os.Stat(filepath.Join(data, name))
		b, err := os.Stat(filepath.Join(folders[4], name))
		if failed != nil || err != nil || !os.SameFile(a, b) {
			t.Errorf("%s is no link: %v, %v", name, failed, err)
		}
	}
	if _, err := os.Stat(filepath.Join(folders[4], "secret.key")); err == nil {
		t.Error("the key lies beside what it seals")
	}
	copied, err := store.Open(t.Context(), folders[4], store.Options{SecretKeyFile: filepath.Join(data, "secret.key")})
	if err != nil {
		t.Fatal(err)
	}
	if err := copied.Close(); err != nil {
		t.Fatal(err)
	}
}
