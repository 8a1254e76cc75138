package testnet

import (
	"os"
	"path/filepath"
	"testing"
)

// FakeBrowser writes a program that answers any arguments with product, such as "Chromium 156.0.8078.79", and nothing
// else. The parts of its path are joined. It stands for a browser that is found but never started.
func FakeBrowser(t testing.TB, product string, path ...string) string {
	t.Helper()
	program := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho "+product+"\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	return program
}
