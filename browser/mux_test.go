//go:build !windows

package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"warren/testnet"
)

// newTestMux returns a multiplexer without a browser; its commands stay in its queue.
func newTestMux(t *testing.T) *mux {
	t.Helper()
	p, err := newPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.closeChild(); p.close() })
	p.writing <- struct{}{} // as if a write were under way, so that commands are queued
	return newMux(p, slog.New(slog.NewTextHandler(io.Discard, nil)))
}

// sent removes the queued commands and returns their methods.
func (m *mux) sent(t *testing.T) (methods []string) {
	t.Helper()
	for msg, _ := m.in.pop(); msg != nil; msg, _ = m.in.pop() {
		var c struct{ Method string }
		if err := json.Unmarshal(msg[:len(msg)-1], &c); err != nil {
			t.Fatalf("%q: %v", msg, err)
		}
		methods = append(methods, c.Method)
	}
	return methods
}

// TestIDsBeginAgain: Chrome takes ids of 32 bits. After the last one follows the first one without a pending command.
func TestIDsBeginAgain(t *testing.T) {
	m := newTestMux(t)
	m.lastID = lastID - 2
	m.pending[firstID], m.pending[firstID+2] = pending{}, pending{} // pending since the last time around
	m.mu.Lock()
	defer m.mu.Unlock()
	var got []int64
	for range 5 {
		got = append(got, m.registerCall(pending{}))
	}
	if want := []int64{lastID - 1, lastID, firstID + 1, firstID + 3, firstID + 4}; !slices.Equal(got, want) {
		t.Errorf("ids %v, want %v", got, want)
	}
}

// TestChildrenGoWithTheirSession: with a session all sessions below it end, at any depth, and their commands. Others stay.
func TestChildrenGoWithTheirSession(t *testing.T) {
	m := newTestMux(t)
	below := map[string]string{"top": "", "child": "top", "grandchild": "child", "second": "top", "beside": "", "its": "beside"}
	asked := map[string]int64{}
	for id, parent := range below {
		m.sessions[id] = &session{id: id, parent: parent, target: "T" + id, kind: "iframe"}
		asked[id] = m.registerCall(pending{session: id})
	}
	m.mu.Lock()
	gone, calls := m.removeSession(m.sessions["top"])
	m.mu.Unlock()
	var names []string
	for _, s := range gone {
		names = append(names, s.id)
	}
	slices.Sort(names)
	if want := []string{"child", "grandchild", "second", "top"}; !slices.Equal(names, want) || len(calls) != len(want) {
		t.Errorf("gone are %v and %d commands, want %v and as many", names, len(calls), want)
	}
	for id := range below {
		stays := id == "beside" || id == "its"
		if _, awaited := m.pending[asked[id]]; (m.session(id) != nil) != stays || awaited != stays {
			t.Errorf("%s: session there %t, its command awaited %t, want %t", id, m.session(id) != nil, awaited, stays)
		}
	}
}

// TestNothingOvertakesAHeldResume: a client's commands after a held resume are held too, in order. Other sessions continue.
func TestNothingOvertakesAHeldResume(t *testing.T) {
	m := newTestMux(t)
	c := newClient(m)
	c.root, c.base = "root", "root"
	for id, kind := range map[string]string{"root": "browser", "page": "page", "other": "page"} {
		m.sessions[id] = &session{id: id, target: "T" + id, kind: kind, client: c}
	}
	m.controller.onAttached(&session{id: "owners", target: "Tpage", kind: "page"}, TargetInfo{TargetID: "Tpage", Type: "page"})
	state := m.controller.stateOf("Tpage")
	<-state.sent // and never acknowledged: the page stays without overrides
	m.sent(t)
	for i, send := range []struct{ session, method string }{
		{"page", "Page.enable"}, {"page", "Runtime.runIfWaitingForDebugger"}, {"page", "Runtime.evaluate"}, {"other", "Page.reload"},
		{"page", "Page.navigate"}, {"page", "Runtime.runIfWaitingForDebugger"},
	} {
		if err := c.submit(t.Context(),
			fmt.Appendf(nil, `{"id":%d,"method":%q,"sessionId":%q}`, i+1, send.method, send.session)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := m.sent(t), []string{"Page.enable", "Page.reload"}; !slices.Equal(got, want) {
		t.Fatalf("while the resume is held, %v went to Chrome, want %v", got, want)
	}
	state.finish()
	var got []string
	for len(got) < 4 {
		if err := m.in.await(t.Context()); err != nil {
			t.Fatal(err)
		}
		got = append(got, m.sent(t)...)
	}
	if want := []string{"Runtime.runIfWaitingForDebugger", "Runtime.evaluate", "Page.navigate",
		"Runtime.runIfWaitingForDebugger"}; !slices.Equal(got, want) {
		t.Errorf("then %v, want %v", got, want)
	}
}

// TestHeldCommandsAreBounded: a client that sends endlessly after a held resume is disconnected, even if its commands have no parameters.
func TestHeldCommandsAreBounded(t *testing.T) {
	m := newTestMux(t)
	c := newClient(m)
	m.sessions["page"] = &session{id: "page", target: "Tpage", kind: "page", client: c}
	m.mu.Lock()
	for held := 0; held <= 2*heldLimit; held += len("Runtime.runIfWaitingForDebugger") {
		m.hold(m.sessions["page"], command{session: "page", method: "Runtime.runIfWaitingForDebugger"})
	}
	m.mu.Unlock()
	testnet.AwaitClosed(t, "the client's end", c.done, testnet.Patience)
	if why := c.reason(); !errors.Is(why, errTooSlow) {
		t.Errorf("it ended with %v", why)
	}
}

// TestHeldAsLongAsItTakes: on a busy machine an attached target gets its overrides late, and runs then.
func TestHeldAsLongAsItTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestMux(t)
		c := newClient(m)
		m.sessions["page"] = &session{id: "page", target: "Tpage", kind: "page", client: c}
		m.controller.onAttached(&session{id: "owners", target: "Tpage", kind: "page"}, TargetInfo{TargetID: "Tpage", Type: "page"})
		state := m.controller.stateOf("Tpage")
		<-state.sent
		m.sent(t)
		if err := c.submit(t.Context(), []byte(`{"id":1,"method":"Runtime.runIfWaitingForDebugger","sessionId":"page"}`)); err != nil {
			t.Fatal(err)
		}
		overridden := make(chan struct{})
		go func() { m.controller.awaitOverrides(t.Context(), "Tpage"); close(overridden) }()
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := m.sent(t); len(got) > 0 {
			t.Errorf("before the overrides are in effect Chrome got %v", got)
		}
		select {
		case <-overridden:
			t.Error("the overrides are said to be in effect")
		default:
		}
		state.finish()
		synctest.Wait()
		<-overridden
		if got := m.sent(t); !slices.Equal(got, []string{"Runtime.runIfWaitingForDebugger"}) {
			t.Errorf("then Chrome got %v", got)
		}
	})
}

// TestHeldIsRefusedAtLast: a target that is never attached, and that Chrome does not close, stays paused, and the client gets an error.
func TestHeldIsRefusedAtLast(t *testing.T) {
	m := newTestMux(t)
	c := newClient(m)
	c.root, c.base = "root", "root"
	m.sessions["root"] = &session{id: "root", kind: "browser", client: c}
	m.sessions["page"] = &session{id: "page", parent: "root", target: "Tpage", kind: "page", client: c}
	for i, method := range []string{"Runtime.runIfWaitingForDebugger", "Runtime.evaluate"} {
		if err := c.submit(t.Context(), fmt.Appendf(nil, `{"id":%d,"method":%q,"sessionId":"page"}`, i+1, method)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 {
		msg, err := c.next(t.Context())
		if want := fmt.Sprintf(`"id":%d,`, i+1); err != nil || !strings.Contains(string(msg), want) ||
			!strings.Contains(string(msg), notOverridden) {
			t.Errorf("the client got %s, %v, want %s", msg, err, notOverridden)
		}
	}
	if got := m.sent(t); !slices.Equal(got, []string{"Target.closeTarget"}) {
		t.Errorf("Chrome got %v", got)
	}
}
