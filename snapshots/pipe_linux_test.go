package snapshots

import (
	"path/filepath"
	"syscall"
	"testing"
)

// pipeIn makes a pipe in a folder, and returns its name.
func pipeIn(t *testing.T, dir string) []string {
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	return []string{"pipe"}
}
