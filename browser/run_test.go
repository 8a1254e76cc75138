//go:build !windows

package browser

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"warren/testnet"
)

// call runs a command on the controller's sessions.
func call(t *testing.T, b *Browser, session, method string, params any) json.RawMessage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testnet.Patience)
	defer cancel()
	var raw json.RawMessage
	if err := b.mux.call(ctx, session, method, params, &raw); err != nil {
		t.Fatal(err)
	}
	return raw
}

// evaluate returns the value of an expression, or of its promise, on an open page.
func evaluate(t *testing.T, b *Browser, p Page, expression string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testnet.Patience)
	defer cancel()
	text, err := tryEvaluate(ctx, b, p, expression)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func tryEvaluate(ctx context.Context, b *Browser, p Page, expression string) (string, error) {
	var r struct {
		Result struct{ Value json.RawMessage }
	}
	params := map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}
	err := b.mux.call(ctx, p.Session, "Runtime.evaluate", params, &r)
	return string(r.Result.Value), err
}

// pageAt waits until a tab shows the path and is loaded. It brings tabs to the front, since Chrome loads restored background tabs one by
// one, seconds apart.
func pageAt(t *testing.T, b *Browser, path string) Page {
	t.Helper()
	var found Page
	testnet.Eventually(t, "a page shows "+path, func() bool {
		targets, err := b.mux.targets(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range targets {
			p, ok := b.mux.controller.page(target.TargetID)
			if !ok || !strings.Contains(target.URL, path) {
				continue
			}
			call(t, b, "", "Target.activateTarget", map[string]string{"targetId": p.Target})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			// A page that is navigating may answer with an error or not at all, and is asked again.
			if got, _ := tryEvaluate(ctx, b, p, "location.pathname + document.readyState"); got == `"`+path+`complete"` {
				found = p
				return true
			}
		}
		return false
	})
	return found
}

// urls lists the tabs' addresses, once the page of the probe is closed.
func urls(t *testing.T, b *Browser) []string {
	t.Helper()
	b.Languages()
	targets, err := b.mux.targets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, target := range targets {
		if target.Type == "page" {
			all = append(all, target.URL)
		}
	}
	slices.Sort(all)
	return all
}

func TestStartAndStop(t *testing.T) {
	p := newProfile(t)
	b := p.open(p.spec())
	if b.PID() != 0 || b.UserAgent() != "" || b.Version() != (Installed{}) || b.Languages() != nil {
		t.Error("before the start there is a pid, a user agent, a version or languages")
	}
	began := time.Now()
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("start: %v", time.Since(began))
	if b.PID() <= 0 || b.Version().Major < 100 || b.Version().Path != p.path || !strings.Contains(b.UserAgent(), "Chrome/") {
		t.Errorf("pid %d, version %+v, user agent %q", b.PID(), b.Version(), b.UserAgent())
	}
	if got := b.Languages(); len(got) == 0 {
		t.Error("no languages")
	}
	if got := b.Timezone(); got == "" {
		t.Error("no time zone")
	}
	if got := urls(t, b); !slices.Equal(got, []string{"about:blank"}) {
		t.Errorf("a new profile shows %v", got)
	}
	if err := b.Start(t.Context()); err == nil {
		t.Error("a second Start succeeded")
	}
	pid := b.PID()
	began = time.Now()
	if got := b.Stop(t.Context(), false); got != MethodClose {
		t.Errorf("stopped by %q, want close", got)
	}
	t.Logf("stop: %v", time.Since(began))
	testnet.AwaitClosed(t, "Done", b.Done(), 0)
	if e := b.Exit(); e.Code != 0 || e.Signal != "" || e.At.IsZero() {
		t.Errorf("exit %+v", e)
	}
	assertNothingLeft(t, b, pid)
	if got := b.Stop(t.Context(), true); got != MethodClose {
		t.Errorf("the second Stop says %q, want what ended it", got)
	}
}

// assertNothingLeft checks that a run left no process and no temporary folder.
func assertNothingLeft(t *testing.T, b *Browser, pid int) {
	t.Helper()
	if g := (&group{id: pid}); pid > 0 && g.alive() {
		t.Error("a process of the group is left")
	}
	if _, err := os.Lstat(b.spec.TempDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary folder is left: %v", err)
	}
	if _, err := os.Readlink(filepath.Join(b.spec.UserDataDir, "SingletonLock")); err == nil && b.method == MethodClose {
		t.Error("Chrome's lock is left")
	}
}

// TestNothingIsLost is the promise of a stop: what a page stored half a second before is there at the next start, including tabs and
// session cookies.
func TestNothingIsLost(t *testing.T) {
	p := newProfile(t)
	b := p.start()
	if err := b.OpenPages(t.Context(), []string{"http://a.test/one", "http://a.test/two"}); err != nil {
		t.Fatal(err)
	}
	one := pageAt(t, b, "/one")
	pageAt(t, b, "/two")
	evaluate(t, b, one, `document.cookie = 'kept=1; max-age=86400'; document.cookie = 'session=1'; sessionStorage.tab = '1'; `+
		`localStorage.all = '1'`)
	<-time.After(500 * time.Millisecond) // the half second of the promise
	if got := b.Stop(t.Context(), false); got != MethodClose {
		t.Fatalf("stopped by %q", got)
	}
	for start := range 2 {
		b = p.start()
		if got, want := urls(t, b), []string{"http://a.test/one", "http://a.test/two"}; !slices.Equal(got, want) {
			t.Errorf("start %d shows %v, want %v and no blank tab", start, got, want)
		}
		got := evaluate(t, b, pageAt(t, b, "/one"), `[document.cookie, sessionStorage.tab, localStorage.all].join()`)
		if !strings.Contains(got, "kept=1") || !strings.Contains(got, "session=1") || !strings.Contains(got, ",1,1") {
			t.Errorf("start %d has %s, want both cookies and both storages", start, got)
		}
		if got := b.Stop(t.Context(), false); got != MethodClose {
			t.Fatalf("stopped by %q", got)
		}
	}
}

func TestCrashIsSeen(t *testing.T) {
	p := newProfile(t)
	b := p.start()
	pid := b.PID()
	began := time.Now()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	testnet.AwaitClosed(t, "the crash", b.Done(), testnet.Patience)
	t.Logf("seen after %v", time.Since(began))
	if e := b.Exit(); e.Signal != "killed" || e.Code != -1 {
		t.Errorf("exit %+v, want the signal", e)
	}
	if got := b.Stop(t.Context(), false); got != MethodNone {
		t.Errorf("a stop after the crash says %q", got)
	}
	assertNothingLeft(t, b, pid)
	again := p.start() // the lock of the crashed browser is no obstacle
	if got := again.Stop(t.Context(), false); got != MethodClose {
		t.Errorf("stopped by %q", got)
	}
}

func TestTabsComeBackAfterCrash(t *testing.T) {
	p := newProfile(t)
	b := p.start()
	if err := b.OpenPages(t.Context(), []string{"http://a.test/one"}); err != nil {
		t.Fatal(err)
	}
	pageAt(t, b, "/one")
	if got := b.Stop(t.Context(), false); got != MethodClose {
		t.Fatal(got)
	}
	b = p.start()
	pageAt(t, b, "/one")
	b.Stop(t.Context(), true)
	b = p.start()
	if got, want := urls(t, b), []string{"http://a.test/one"}; !slices.Equal(got, want) {
		t.Errorf("after a crash the tabs are %v, want %v", got, want)
	}
}

// TestSessionWithoutTabs: without tabs to restore Chrome opens the New Tab Page; the start leaves it.
func TestSessionWithoutTabs(t *testing.T) {
	p := newProfile(t)
	b := p.start()
	for _, open := range b.mux.controller.openPages() {
		call(t, b, "", "Target.closeTarget", map[string]string{"targetId": open.Target})
	}
	b.Stop(t.Context(), false)
	for range 2 {
		b = p.start()
		testnet.Eventually(t, "the only tab is blank", func() bool { return slices.Equal(urls(t, b), []string{"about:blank"}) })
		b.Stop(t.Context(), false)
	}
}

// TestHungBrowser: a browser that hangs ends within the limits, even while another stop waits.
func TestHungBrowser(t *testing.T) {
	p := newProfile(t)
	b := p.start()
	b.limits.closing, b.limits.interrupt = 300*time.Millisecond, 300*time.Millisecond
	pid := b.PID()
	testnet.Pause(t, -pid)
	began := time.Now()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if got := b.Stop(context.Background(), false); got != MethodKill {
				t.Errorf("stopped by %q, want kill", got)
			}
		})
	}
	wg.Wait()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the stop took %v", took)
	}
	if e := b.Exit(); e.Signal != "killed" {
		t.Errorf("exit %+v", e)
	}
	assertNothingLeft(t, b, pid)
}

// TestInterruptStep: if Browser.close has no effect SIGINT follows, and keeps cookies too.
func TestInterruptStep(t *testing.T) {
	p := newProfile(t)
	b := p.start()
	if err := b.OpenPages(t.Context(), []string{"http://a.test/one"}); err != nil {
		t.Fatal(err)
	}
	evaluate(t, b, pageAt(t, b, "/one"), `document.cookie = 'kept=1; max-age=86400'`)
	b.limits.closing = 0
	b.mux.in.close() // nothing reaches Chrome any more
	if got := b.Stop(t.Context(), false); got != MethodInterrupt {
		t.Fatalf("stopped by %q, want interrupt", got)
	}
	if e := b.Exit(); e.Code != 0 {
		t.Errorf("exit %+v", e)
	}
	b = p.start()
	if got := evaluate(t, b, pageAt(t, b, "/one"), `document.cookie`); got != `"kept=1"` {
		t.Errorf("cookies after SIGINT: %s", got)
	}
}

func TestForceAndContextEndPatience(t *testing.T) {
	p := newProfile(t)
	for name, stop := range map[string]func(*Browser) Method{
		"force": func(b *Browser) Method { return b.Stop(context.Background(), true) },
		"context": func(b *Browser) Method {
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer cancel()
			return b.Stop(ctx, false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := p.start()
			pid := b.PID()
			testnet.Pause(t, pid) // else it would close too quickly
			began := time.Now()
			if got := stop(b); got != MethodKill {
				t.Errorf("stopped by %q, want kill", got)
			}
			if took := time.Since(began); took > 4*time.Second {
				t.Errorf("took %v", took)
			}
			assertNothingLeft(t, b, pid)
		})
	}
}

// TestLifeline: when our end of the pipe closes, as it does when this process is killed, Chrome closes itself and keeps its cookies.
func TestLifeline(t *testing.T) {
	p := newProfile(t)
	b := p.start()
	if err := b.OpenPages(t.Context(), []string{"http://a.test/one"}); err != nil {
		t.Fatal(err)
	}
	evaluate(t, b, pageAt(t, b, "/one"), `document.cookie = 'kept=1; max-age=86400'`)
	b.mux.pipe.close()
	testnet.AwaitClosed(t, "the browser's end", b.Done(), testnet.Patience)
	if e := b.Exit(); e.Code != 0 || e.Signal != "" {
		t.Errorf("exit %+v", e)
	}
	b.Stop(t.Context(), false)
	b = p.start()
	if got := evaluate(t, b, pageAt(t, b, "/one"), `document.cookie`); got != `"kept=1"` {
		t.Errorf("cookies after the lifeline broke: %s", got)
	}
}

func TestStopBeforeStart(t *testing.T) {
	p := newProfile(t)
	b := p.open(p.spec())
	if got := b.Stop(t.Context(), false); got != MethodNone {
		t.Errorf("stopped by %q", got)
	}
	testnet.AwaitClosed(t, "Done", b.Done(), 0)
	if err := b.Start(t.Context()); err == nil {
		t.Error("a stopped browser started")
	}
	if b.Languages() != nil || b.Timezone() != "" {
		t.Error("a browser that never ran has languages or a time zone")
	}
}
