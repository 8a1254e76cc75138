// Package testnet provides a machine and a world of network namespaces for tests. A test runs the processes under
// test on the machine. The machine's only cable leads to the world. In the world every address answers, and every
// arriving packet is recorded, so that a test can count and name what left the machine.
//
// The network of the computer that runs the test is not used. Linux with namespaces, ip and nft is needed; otherwise
// the test is skipped.
//
// Besides, the package has Site, a web server behind SOCKS5 for tests with a browser, and LocalProxy, a SOCKS5 server
// with a password. Postgres gives a test a database of PostgreSQL. It also has waits with a bound, and Pause, which suspends
// processes.
package testnet

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience is how long a test waits for what an idle machine does at once.
const Patience = 5 * time.Minute

// AwaitClosed waits until a channel is closed. After limit it fails the test with the stacks of all goroutines.
func AwaitClosed(t testing.TB, what string, c <-chan struct{}, limit time.Duration) {
	t.Helper()
	select {
	case <-c:
		return
	default:
	}
	select {
	case <-c:
	case <-time.After(limit):
		buf := make([]byte, 1<<20)
		t.Fatalf("%s: not within %v\n%s", what, limit, buf[:runtime.Stack(buf, true)])
	}
}

// Eventually polls until a condition holds, for conditions without an event. It fails the test after Patience.
func Eventually(t testing.TB, what string, yes func() bool) {
	t.Helper()
	pause := time.NewTicker(10 * time.Millisecond)
	defer pause.Stop()
	for late := time.After(Patience); !yes(); {
		select {
		case <-pause.C:
		case <-late:
			t.Fatalf("not within %v: %s", Patience, what)
		}
	}
}

// Long skips a long trial unless WARREN_LONG is set. `make test` stays short; `make test-long` runs every test that calls this.
func Long(t testing.TB) {
	t.Helper()
	if os.Getenv("WARREN_LONG") == "" {
		t.Skip("a long trial: make test-long runs it")
	}
}

// ForgetSettings takes Warren's settings out of the environment, such as the key that the README has people export. Tests of the program's
// own commands must not read them. WARREN_BROWSER stays, since tests need a browser too, and so does what OnPostgres reads.
func ForgetSettings() error {
	var faults []error
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "WARREN_") && name != "WARREN_BROWSER" && name != "WARREN_TEST_STORE" {
			faults = append(faults, os.Unsetenv(name))
		}
	}
	return errors.Join(faults...)
}

// Buffer is an io.Writer whose text may be read while another goroutine or process writes.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends to the buffer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String returns the text so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// WriteProgram writes a program that every user may run, whatever the umask is. Nothing is forked meanwhile: a child would have the file
// open for writing until it execs, and nobody could run it (ETXTBSY in execve(2)).
func WriteProgram(t testing.TB, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte(text), 0o755) //nolint:gosec // a program
	syscall.ForkLock.RUnlock()
	if err := errors.Join(err, os.Chmod(path, 0o755)); err != nil { //nolint:gosec // as above
		t.Fatal(err)
	}
}

// FakeBrowser writes a program that answers any arguments with product, such as "Chromium 156.0.8078.79", and nothing
// else. The parts of its path are joined. It stands for a browser that is found but never started.
func FakeBrowser(t testing.TB, product string, path ...string) string {
	t.Helper()
	program := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
		t.Fatal(err)
	}
	WriteProgram(t, program, "#!/bin/sh\necho "+product+"\n")
	return program
}
