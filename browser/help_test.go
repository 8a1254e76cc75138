//go:build !windows

package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"warren/testnet"
)

// TestMain lets the test's binary be the child that enters a namespace, as the server's binary is.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == ChildArgument {
		fmt.Fprintln(os.Stderr, EnterNamespace())
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, // the library drains its buffers for a second after a database was closed
		goleak.IgnoreAnyFunction("github.com/syndtr/goleveldb/leveldb.(*DB).mpoolDrain"))
}

// installed returns the machine's Chromium, or skips the test.
func installed(t *testing.T) Installed {
	t.Helper()
	found, err := Find(t.Context(), "")
	if err != nil {
		t.Skipf("needs a Chromium: %v", err)
	}
	needIsolation(t)
	return found
}

// needIsolation skips a test on a machine where no browser can be started.
func needIsolation(t *testing.T) {
	t.Helper()
	if missing := CheckIsolation(); missing != nil && os.Geteuid() == 0 {
		t.Skipf("needs namespaces, or an ordinary user: as root no browser runs without: %v", missing)
	}
}

// profile is a profile's folders and the network behind its relay, for one or more runs.
type profile struct {
	t    *testing.T
	path string
	dir  string
	site *testnet.Site
}

func newProfile(t *testing.T) *profile {
	t.Helper()
	return &profile{t: t, path: installed(t).Path, dir: filepath.Join(t.TempDir(), "profile"), site: testnet.NewSite(t)}
}

func (p *profile) spec() Spec {
	return Spec{Path: p.path, UserDataDir: p.dir, TempDir: tempDir(p.t), Headless: true}
}

// tempDir returns a short path that does not exist: Chrome makes a unix socket in it.
func tempDir(t *testing.T) string {
	t.Helper()
	parent, err := os.MkdirTemp("", "wb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(parent) })
	return filepath.Join(parent, "t")
}

// open opens a run and serves its relay. The run is closed at the end of the test. Timeouts that the product keeps short for people are as
// long as a test's patience.
func (p *profile) open(s Spec) *Browser {
	p.t.Helper()
	b, err := Open(s)
	if err != nil {
		p.t.Fatal(err)
	}
	b.limits.start, b.limits.probeNew = testnet.Patience, testnet.Patience
	p.site.Serve(b.Listener())
	p.t.Cleanup(func() {
		if err := b.Close(); err != nil {
			p.t.Errorf("Close: %v", err)
		}
		if p.t.Failed() && b.proc != nil {
			p.t.Logf("the browser said last:\n%s", strings.Join(b.proc.output.lines(), "\n"))
		}
	})
	return b
}

// start opens and starts a run.
func (p *profile) start() *Browser {
	p.t.Helper()
	b := p.open(p.spec())
	ctx, cancel := context.WithTimeout(p.t.Context(), testnet.Patience)
	defer cancel()
	if err := b.Start(ctx); err != nil {
		p.t.Fatalf("Start: %v", err)
	}
	return b
}
