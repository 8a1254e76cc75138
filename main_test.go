package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"

	"warren/shim"
)

// TestMain removes the binary that warrenBinary built. It also makes the test's own binary the child that enters a namespace when it is
// called like one, as the server's is.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == shim.ChildArgument {
		os.Exit(exitCode(shim.EnterNamespace(), os.Stderr))
	}
	playRole(os.Args)
	openapi3filter.RegisterBodyDecoder("application/x-ndjson", openapi3filter.FileBodyDecoder) // a text, to the validator
	code := m.Run()
	if dir := builtIn.dir; dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

var builtIn struct{ dir string }

// buildWarren builds this package once, as a user gets it.
var buildWarren = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "warren-build-")
	if err != nil {
		return "", err
	}
	builtIn.dir = dir
	// Tests may run the binary as another user.
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // see above
		return "", err
	}
	name := filepath.Join(dir, "warren")
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	out, err := exec.Command("go", "build", fmt.Sprintf("-race=%v", withRace), "-o", name, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return name, os.Chmod(name, 0o755) //nolint:gosec // see above
})

// warrenBinary is the real program: the one that WARREN_TEST_BINARY names, as for one with the race detector in it, else a
// fresh one.
func warrenBinary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("WARREN_TEST_BINARY"); path != "" {
		return path
	}
	path, err := buildWarren()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLibrariesWriteNoLog: what a server of a run's proxy says unasked, libraries write to the standard logger. From the program's first
// step on it goes nowhere.
func TestLibrariesWriteNoLog(t *testing.T) {
	before := log.Writer()
	defer log.SetOutput(before)
	for _, args := range [][]string{{"shim"}, {"no-such-command"}} {
		var got bytes.Buffer
		log.SetOutput(&got)
		if err := run(t.Context(), args, strings.NewReader("no spec"), io.Discard, io.Discard); err == nil {
			t.Fatalf("%q was taken", args)
		}
		if log.Print("what a proxy sent"); got.Len() > 0 {
			t.Errorf("after %q the standard logger writes %q", args, &got)
		}
	}
}
