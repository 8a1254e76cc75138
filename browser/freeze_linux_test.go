package browser

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"warren/testnet"
)

// noter is a control group that notes what is asked of it.
type noter struct {
	mu     sync.Mutex
	frozen bool
	thaws  int
	fails  error // of Thaw
}

func (n *noter) Add(int) error                { return nil }
func (n *noter) Enter() (func() error, error) { return func() error { return nil }, nil }

func (n *noter) Freeze() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.frozen = true
	return nil
}

func (n *noter) Thaw() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fails != nil {
		return n.fails
	}
	n.frozen, n.thaws = false, n.thaws+1
	return nil
}

func (n *noter) isFrozen() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.frozen
}

// TestFreezer: what is not frozen is not thawed, a thaw that failed is tried again, and after the end nothing is frozen.
func TestFreezer(t *testing.T) {
	t.Parallel()
	g := &noter{}
	f := freezer{group: g, log: slog.New(slog.DiscardHandler), thawed: make(chan struct{}, 1)}
	if f.thaw(); g.thaws != 0 || len(f.thawed) != 0 {
		t.Error("it was not frozen")
	}
	if err := f.freeze(); err != nil || f.since.IsZero() {
		t.Error(err, f.since)
	}
	g.fails = errors.New("no")
	if f.thaw(); f.since.IsZero() || len(f.thawed) != 0 {
		t.Error("it was not thawed")
	}
	g.fails = nil
	if f.thaw(); !f.since.IsZero() || len(f.thawed) != 1 {
		t.Error("it was thawed")
	}
	if err := f.freeze(); err != nil {
		t.Error(err)
	}
	if f.end(); g.isFrozen() || !errors.Is(f.freeze(), ErrInUse) {
		t.Error("it goes on after its end")
	}
	if err := (&freezer{}).freeze(); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

const makeSound = `(() => { const n = 80000, v = new DataView(new ArrayBuffer(44 + 2 * n));
	const text = (at, s) => [...s].forEach((c, i) => v.setUint8(at + i, c.charCodeAt(0)));
	text(0, 'RIFF'); v.setUint32(4, 36 + 2 * n, true); text(8, 'WAVEfmt '); v.setUint32(16, 16, true); v.setUint16(20, 1, true);
	v.setUint16(22, 1, true); v.setUint32(24, 8000, true); v.setUint32(28, 16000, true); v.setUint16(32, 2, true);
	v.setUint16(34, 16, true); text(36, 'data'); v.setUint32(40, 2 * n, true);
	window.a = new Audio(URL.createObjectURL(new Blob([v], {type: 'audio/wav'}))); a.loop = true; return a.play().then(() => 'plays') })()`

// TestFreeze: with a real browser, in a group that only notes. Sounds hears what a person would. Nothing of a page is lost when it gives
// memory back. A frozen browser is thawed before each command, and by Stop; not while it owes an answer, and not before. Pages that do not
// answer do not keep it awake.
func TestFreeze(t *testing.T) {
	p, g := newProfile(t), &noter{}
	s := p.spec()
	s.Group = g
	b := p.open(s)
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	page := b.mux.controller.openPages()[0]
	call(t, b, page.Session, "Page.navigate", map[string]string{"url": "http://a.test/"})
	eval := func(code string) string {
		t.Helper()
		text := call(t, b, page.Session, "Runtime.evaluate", map[string]any{"expression": code, "userGesture": true, "awaitPromise": true,
			"returnByValue": true})
		var out struct{ Result struct{ Value any } }
		if err := json.Unmarshal(text, &out); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(strings.Trim(string(mustJSON(t, out.Result.Value)), `"`))
	}
	for _, c := range []struct {
		do, says string
		sounds   bool
	}{
		{`window.kept = 'kept'`, "kept", false},
		{makeSound, "plays", true},
		{`a.muted = true; 'muted'`, "muted", false},
		{`a.muted = false; a.pause(); 'pauses'`, "pauses", false},
		{`window.c = new AudioContext(); c.resume().then(() => c.state)`, "running", true},
		{`c.close().then(() => c.state)`, "closed", false},
	} {
		if got := eval(c.do); got != c.says {
			t.Fatalf("%s: %q", c.do, got)
		}
		if sounds, err := b.Sounds(t.Context()); err != nil || sounds != c.sounds {
			t.Errorf("%s: sounds %v, %v", c.do, sounds, err)
		}
	}
	if err := b.GiveBack(t.Context()); err != nil {
		t.Error(err)
	}
	testnet.Eventually(t, "it is frozen", func() bool { return b.Freeze() == nil })
	if !g.isFrozen() || b.FrozenSince().IsZero() || time.Since(b.FrozenSince()) < 0 {
		t.Error("it is not frozen")
	}
	if got := eval(`kept`); got != "kept" || g.isFrozen() || !b.FrozenSince().IsZero() || len(b.Thawed()) != 1 {
		t.Errorf("after a command: %q, frozen %v", got, g.isFrozen())
	}
	b.mux.send(page.Session, "Runtime.evaluate", map[string]any{"expression": `new Promise(f => window.answer = f)`,
		"awaitPromise": true}, nil)
	if err := b.Freeze(); !errors.Is(err, ErrInUse) {
		t.Errorf("a browser that owes an answer: %v", err)
	}
	eval(`answer(), ''`)
	p.freezesBesideSilent(b, page)
	testnet.Eventually(t, "it is frozen again", func() bool { return b.Freeze() == nil })
	wantEndFirst(t, b.PID())
	if got := b.Stop(t.Context(), false); got != MethodClose || g.isFrozen() {
		t.Errorf("the stop took %q", got)
	}
}

// freezesBesideSilent freezes a browser with a page that has crashed, and one whose script waits for an answer of its site. Neither is
// asked again before it has answered. The second plays a sound then.
func (p *profile) freezesBesideSilent(b *Browser, page Page) {
	t := p.t
	t.Helper()
	asked, release := make(chan struct{}), make(chan struct{})
	p.site.Mux.HandleFunc("/wait", func(http.ResponseWriter, *http.Request) { close(asked); <-release })
	b.mux.send(page.Session, "Runtime.evaluate", map[string]any{"userGesture": true, "expression": `(() => {
		const x = new XMLHttpRequest(); x.open('GET', '/wait', false); x.send(); window.c = new AudioContext() })()`}, nil)
	<-asked
	var made struct{ TargetID string }
	if err := b.mux.call(t.Context(), "", "Target.createTarget", map[string]string{"url": "http://crash.test/"}, &made); err != nil {
		t.Fatal(err)
	}
	testnet.Eventually(t, "the page is attached", func() bool { return len(b.mux.controllerSessions(made.TargetID)) > 0 })
	crash := b.mux.controllerSessions(made.TargetID)[0].id
	b.mux.send(crash, "Page.crash", nil, nil)
	sounds := func(wait time.Duration) bool {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		loud, err := b.Sounds(ctx)
		if err != nil {
			t.Error(err)
		}
		return loud
	}
	if sounds(2 * time.Second) {
		t.Error("a page that does not answer sounds")
	}
	owed := b.mux.owed(page.Session, crash)
	if sounds(2*time.Second) || b.mux.owed(page.Session, crash) != owed || owed == 0 {
		t.Fatalf("pages that owe %d answers were asked again", owed)
	}
	if err := b.GiveBack(t.Context()); err != nil {
		t.Error(err)
	}
	testnet.Eventually(t, "it is frozen beside pages that do not answer", func() bool { return b.Freeze() == nil })
	close(release)
	testnet.Eventually(t, "the page sounds that answers again", func() bool { return sounds(testnet.Patience) })
	call(t, b, page.Session, "Runtime.evaluate", map[string]any{"expression": "c.close()", "awaitPromise": true})
}

// owed counts the commands that have no answer yet.
func (m *mux) owed(sessions ...string) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.pending {
		if slices.Contains(sessions, p.session) {
			n++
		}
	}
	return n
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// wantEndFirst checks that the kernel would end a browser before this process, and that it writes no dump of it.
func wantEndFirst(t *testing.T, pid int) {
	t.Helper()
	score := func(pid string) int {
		text, err := os.ReadFile(filepath.Join("/proc", pid, "oom_score_adj"))
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	own := score("self")
	if got := score(strconv.Itoa(pid)); got != min(1000, own+endFirstScore) {
		t.Errorf("the browser's score is %d, this process' %d", got, own)
	}
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "limits"))
	_, core, _ := strings.Cut(string(text), "Max core file size")
	if fields := strings.Fields(core); err != nil || len(fields) < 2 || fields[0] != "0" || fields[1] != "0" {
		t.Errorf("its dumps may have %v, %v", fields[:min(2, len(fields))], err)
	}
}
