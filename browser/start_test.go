//go:build !windows

package browser

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"warren/testnet"
)

// script writes a program that replaces a browser and misbehaves.
func script(t *testing.T, body string) string {
	t.Helper()
	needIsolation(t)
	path := filepath.Join(t.TempDir(), "chromium")
	testnet.WriteProgram(t, path, "#!/bin/sh\n"+body)
	return path
}

// failedStart opens and starts a run that must fail, and checks that nothing is left of it.
func failedStart(t *testing.T, ctx context.Context, path string, change func(*Browser)) *StartError {
	t.Helper()
	b, err := Open(Spec{Path: path, UserDataDir: filepath.Join(t.TempDir(), "profile"), TempDir: tempDir(t), Headless: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	b.limits.abandon = 300 * time.Millisecond
	if change != nil {
		change(b)
	}
	err = b.Start(ctx)
	var failed *StartError
	if !errors.As(err, &failed) {
		t.Fatalf("Start: %v, want a *StartError", err)
	}
	testnet.AwaitClosed(t, "Done after a failed start", b.Done(), 0)
	assertNothingLeft(t, b, b.PID())
	if _, err := os.Lstat(b.spec.UserDataDir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the profile's folder is left: %v", err)
	}
	if got := b.Stop(t.Context(), false); got != MethodNone {
		t.Errorf("a stop after a failed start says %q", got)
	}
	return failed
}

func TestStartWithoutBrowser(t *testing.T) {
	needIsolation(t)
	e := failedStart(t, t.Context(), "/no/such/chromium", nil)
	if e.Kind != StartNotFound || !errors.Is(e, fs.ErrNotExist) {
		t.Errorf("%+v", e)
	}
}

func TestStartOfOneThatExits(t *testing.T) {
	e := failedStart(t, t.Context(), script(t, "echo first >&2; printf 'No usable \\033[31msandbox\\n' >&2; exit 7"), nil)
	if e.Kind != StartFailed || e.ExitCode != 7 || !slices.Equal(e.Lines, []string{"first", "No usable [31msandbox"}) {
		t.Errorf("%+v", e)
	}
	if !strings.Contains(e.Error(), "exited with code 7") || !strings.Contains(e.Error(), "No usable") {
		t.Errorf("message: %v", e)
	}
}

func TestStartOfOneThatIsKilled(t *testing.T) {
	e := failedStart(t, t.Context(), script(t, "kill -SEGV $$"), nil)
	if e.Kind != StartFailed || e.ExitCode != 0 || !strings.Contains(e.Error(), "signal") {
		t.Errorf("%+v", e)
	}
}

// TestStartOfOneThatNeverAnswers: the browser is killed with everything that it started, even what ignores signals.
func TestStartOfOneThatNeverAnswers(t *testing.T) {
	body := "echo thinking >&2; trap '' INT TERM HUP; sleep 600 & sleep 600"
	e := failedStart(t, t.Context(), script(t, body), func(b *Browser) { b.limits.start = 300 * time.Millisecond })
	if e.Kind != StartTimeout || !slices.Equal(e.Lines, []string{"thinking"}) {
		t.Errorf("%+v", e)
	}
}

// TestStartOfOneThatClosesThePipe: the browser lives but cannot answer.
func TestStartOfOneThatClosesThePipe(t *testing.T) {
	e := failedStart(t, t.Context(), script(t, "exec 3<&- 4>&-; sleep 600"), nil)
	if e.Kind != StartFailed {
		t.Errorf("%+v", e)
	}
}

func TestStartCancelled(t *testing.T) {
	path := script(t, "sleep 600")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	if e := failedStart(t, ctx, path, nil); e.Kind != StartCancelled || !errors.Is(e, context.Canceled) {
		t.Errorf("%+v", e)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if e := failedStart(t, ctx, path, nil); e.Kind != StartTimeout || !errors.Is(e, context.DeadlineExceeded) {
		t.Errorf("%+v", e)
	}
	stop := func(b *Browser) {
		time.AfterFunc(200*time.Millisecond, func() { b.Stop(context.Background(), false) })
	}
	if e := failedStart(t, t.Context(), path, stop); e.Kind != StartCancelled {
		t.Errorf("%+v", e)
	}
}

// TestStartCancelledAtEveryMoment cancels a real browser's start early and late: the next start finds the profile free.
func TestStartCancelledAtEveryMoment(t *testing.T) {
	p := newProfile(t)
	for _, after := range []time.Duration{0, 20 * time.Millisecond, 80 * time.Millisecond, 200 * time.Millisecond} {
		b := p.open(p.spec())
		ctx, cancel := context.WithTimeout(t.Context(), after)
		err := b.Start(ctx)
		cancel()
		if err != nil {
			testnet.AwaitClosed(t, "Done", b.Done(), 0)
		}
		b.Stop(t.Context(), false)
		assertNothingLeft(t, b, b.PID())
	}
	p.start()
}

func TestProfileInUse(t *testing.T) {
	p := newProfile(t)
	first := p.start()
	second := p.open(p.spec())
	var failed *StartError
	if err := second.Start(t.Context()); !errors.As(err, &failed) || failed.Kind != StartLocked {
		t.Fatalf("a second browser on the profile: %v, want locked", err)
	}
	if got := urls(t, first); len(got) == 0 {
		t.Error("the first browser has lost its tabs")
	}
	// If the lock appears only after our check, Chrome itself refuses.
	lock := filepath.Join(p.dir, "SingletonLock")
	link, err := os.Readlink(lock)
	if err != nil {
		t.Fatal(err)
	}
	third := p.open(p.spec())
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if err := third.prepare(); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(link, lock); err != nil {
		t.Fatal(err)
	}
	third.claim()
	defer close(third.startDone)
	if err := third.spawn(); err != nil {
		t.Fatal(err)
	}
	if err := third.awaitReady(t.Context()); !errors.As(err, &failed) || failed.Kind != StartLocked || failed.ExitCode != exitProfileInUse {
		t.Errorf("%v, want locked by exit code 21", err)
	}
}

// TestLeftOverLocks: a dead browser's lock is removed, whatever host it was on and whoever has its process id now.
func TestLeftOverLocks(t *testing.T) {
	p := newProfile(t)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"SingletonLock", "SingletonCookie", "SingletonSocket"}
	lock := func(link string) {
		if err := os.MkdirAll(p.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if err := os.Symlink(link, filepath.Join(p.dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, link := range []string{host + "-1", host + "-2000000000", host + "-x", "nonsense", "-", ""} {
		if link != "" {
			lock(link)
		}
		if err := removeStaleLock(p.dir); err != nil {
			t.Errorf("a lock %q: %v", link, err)
		}
		for _, name := range names {
			if _, err := os.Lstat(filepath.Join(p.dir, name)); err == nil {
				t.Errorf("a lock %q: %s is left", link, name)
			}
		}
	}
	lock("another-host-1") // Chrome itself would exit with 21
	p.start()
}

func TestRunsWithLooksAtTheProcess(t *testing.T) {
	p := newProfile(t)
	b := p.start()
	if !runsWith(b.PID(), p.dir) || !runsWith(b.PID(), p.dir+"/") {
		t.Error("our own browser is not recognised")
	}
	if runsWith(b.PID(), p.dir+"2") || runsWith(os.Getpid(), p.dir) || runsWith(-1, p.dir) {
		t.Error("another process is taken for our browser")
	}
}

func TestBadSpecs(t *testing.T) {
	good := Spec{Path: "/bin/true", UserDataDir: "/a/b", TempDir: "/t/x"}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Spec){
		"no path":           func(s *Spec) { s.Path = "" },
		"relative profile":  func(s *Spec) { s.UserDataDir = "b" },
		"relative temp":     func(s *Spec) { s.TempDir = "t" },
		"no temp":           func(s *Spec) { s.TempDir = "" },
		"long temp":         func(s *Spec) { s.TempDir = "/" + strings.Repeat("t", 100) },
		"temp is all temp":  func(s *Spec) { s.TempDir = os.TempDir() },
		"temp is root":      func(s *Spec) { s.TempDir = "/" },
		"temp has profile":  func(s *Spec) { s.TempDir = "/a" },
		"temp is profile":   func(s *Spec) { s.TempDir = "/a/b/" },
		"control character": func(s *Spec) { s.UserDataDir = "/a/b\x00c" },
	} {
		s := good
		change(&s)
		if b, err := Open(s); err == nil {
			t.Errorf("%s: accepted", name)
			b.Close()
		}
	}
}

// TestFolderThatCannotBeWritten: a folder that cannot be written fails the start with a plain error.
func TestFolderThatCannotBeWritten(t *testing.T) {
	needIsolation(t)
	parent := t.TempDir()
	file := filepath.Join(parent, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := Open(Spec{Path: script(t, "exit 0"), UserDataDir: filepath.Join(file, "profile"), TempDir: tempDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var failed *StartError
	if err := b.Start(t.Context()); !errors.As(err, &failed) || failed.Kind != StartFailed || !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("%v", err)
	}
}

// TestCallerSetsTheTime: a start may take as long as the caller's context allows. The browser's own limit applies only without a deadline.
func TestCallerSetsTheTime(t *testing.T) {
	p := newProfile(t)
	b := p.open(p.spec())
	b.limits.start = time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), testnet.Patience)
	defer cancel()
	if err := b.Start(ctx); err != nil {
		t.Errorf("Start: %v", err)
	}
}
