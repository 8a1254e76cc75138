package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What is closed to clients is where the files of the server's own lie, also behind links; of folders that others
// need it is the file alone.
func TestCovered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"keys", "..data"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	real, link := filepath.Join(dir, "..data", "tls.key"), filepath.Join(dir, "keys", "tls.key")
	if err := os.WriteFile(real, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip(err)
	}
	c := &serveConfig{Data: filepath.Join(dir, "data"), SecretKey: filepath.Join(dir, "secret", "secret.key"), TLSKey: link,
		APIKeyFile: filepath.Join(home, "key"),
		configFile: filepath.Join(dir, "config", "config.json")}
	got := c.covered()
	for _, want := range []string{"data", "data/profiles", "secret", "keys", "..data", "config"} {
		if !slices.Contains(got, filepath.Join(dir, want)) {
			t.Errorf("%s is missing: %v", want, got)
		}
	}
	if !slices.Contains(got, filepath.Join(home, "key")) || slices.Contains(got, home) {
		t.Errorf("the home folder: %v", got)
	}
	if len(got) != 7 {
		t.Errorf("covered are %v", got)
	}
	if got := (&serveConfig{Data: "/d", BackupTo: "/mnt/b"}).covered(); !slices.Contains(got, "/mnt/b") {
		t.Errorf("with backups covered are %v", got)
	}
	if got := (&serveConfig{Data: "/d", BackupTo: "s3://bucket/x"}).covered(); len(got) != 2 {
		t.Errorf("with backups in a bucket covered are %v", got)
	}
	if got := (&serveConfig{Data: "/d", SecretKey: "/etc/secret.key"}).covered(); !slices.Equal(got,
		[]string{"/d", "/d/profiles", "/etc/secret.key"}) {
		t.Errorf("covered are %v", got)
	}
}
