// Package tests holds the acceptance tests: they drive the real binary from outside, by its command line, its API and its
// files, as a user does. No test here imports package main.
package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"warren/shim"
)

// builtBinary is the program under test, set once by TestMain.
var builtBinary string

// TestMain builds the program once. WARREN_TEST_BINARY names another one instead, such as one that was built before. The
// test's own binary also plays two roles: the child that enters a namespace, as the server's does, and playRole's.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == shim.ChildArgument {
		fmt.Fprintln(os.Stderr, shim.EnterNamespace())
		os.Exit(1)
	}
	playRole(os.Args)
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	if builtBinary = os.Getenv("WARREN_TEST_BINARY"); builtBinary != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "warren-build-")
	if err == nil {
		defer os.RemoveAll(dir)
		builtBinary, err = buildWarren(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// buildWarren builds the program in dir as users get it, with the race detector when the tests have it.
func buildWarren(dir string) (string, error) {
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // tests run the program as another user too
		return "", err
	}
	name := filepath.Join(dir, "warren")
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	out, err := exec.Command("go", "build", fmt.Sprintf("-race=%v", withRace), "-o", name, "warren").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return name, os.Chmod(name, 0o755) //nolint:gosec // as above
}
