//go:build !windows

package browser

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
)

// subscribeTo returns a multiplexer without a browser, with one page, and a subscription to it.
func subscribeTo(t *testing.T) (*Browser, *Subscription) {
	t.Helper()
	b := &Browser{mux: newTestMux(t), launched: make(chan struct{})}
	if _, err := b.Subscribe(); !errors.Is(err, errNotStarted) {
		t.Fatalf("before the launch: %v", err)
	}
	close(b.launched)
	b.mux.sessions["page"] = &session{id: "page", target: "T", kind: "page"}
	s, err := b.Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	return b, s
}

// TestSubscriptionKeepsOrder: events, answers and what the multiplexer observes arrive in one order, and each waits until it is read.
func TestSubscriptionKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := subscribeTo(t)
		s.Send("page", "Page.enable", nil, "tag")
		go func() {
			b.mux.receive([]byte(`{"method":"Page.loadEventFired","params":{"timestamp":1},"sessionId":"page"}`))
			b.mux.receive(fmt.Appendf(nil, `{"id":%d,"result":{"a":1},"sessionId":"page"}`, firstID))
			b.mux.receive([]byte(
				`{"method":"Page.frameStartedNavigating","params":{"frameId":"T","url":"file:///etc"},"sessionId":"page"}`))
			b.mux.publish(ClientInput{Target: "T", Method: "Input.insertText"})
			b.mux.receive([]byte(`{"method":"Target.targetCreated","params":{"targetInfo":{"targetId":"U","type":"page"}}}`))
		}()
		var got []string
		for range 6 {
			synctest.Wait()
			news, err := s.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%+v", news))
			if e, ok := news.(Event); ok {
				got[len(got)-1] = e.Session + " " + e.Target + " " + e.Method
			}
		}
		want := []string{"page T Page.loadEventFired", "{Tag:tag Result:[123 34 97 34 58 49 125] Err:<nil>}", "{Target:T}",
			"page T Page.frameStartedNavigating", "{Target:T Method:Input.insertText Params:[]}", "  Target.targetCreated"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestSubscriptionEnds: neither the end of the reader nor that of the browser holds anybody up.
func TestSubscriptionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := subscribeTo(t)
		done := make(chan struct{})
		go func() { b.mux.publish(Blocked{"T"}); close(done) }()
		synctest.Wait()
		s.Close()
		s.Close()
		<-done
		b.mux.publish(Blocked{"T"})
		if _, err := s.Next(t.Context()); !errors.Is(err, errUnsubscribed) {
			t.Errorf("after Close: %v", err)
		}
		s, err := b.Subscribe()
		if err != nil {
			t.Fatal(err)
		}
		s.Send("page", "Page.enable", nil, "tag")
		b.mux.end()
		synctest.Wait()
		if _, err := s.Next(t.Context()); !errors.Is(err, errPipeEnded) {
			t.Errorf("after the browser's end: %v", err)
		}
		s.Send("page", "Page.enable", nil, "tag") // the answer is lost, and nobody reads it
		synctest.Wait()
	})
}

// TestWhoAnswersDialogs: a dialog is the reader's only while it is shown with dialogs and delivered. Otherwise it is answered at once.
func TestWhoAnswersDialogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := subscribeTo(t)
		opening := []byte(`{"method":"Page.javascriptDialogOpening","params":{"type":"alert"},"sessionId":"page"}`)
		open := func(claimed bool, want ...string) {
			t.Helper()
			go b.mux.receive(slices.Clone(opening))
			synctest.Wait()
			news, err := s.Next(t.Context())
			if e, ok := news.(Event); err != nil || !ok || e.Claimed != claimed {
				t.Fatalf("got %+v, %v, want claimed %t", news, err, claimed)
			}
			synctest.Wait()
			if got := b.mux.sent(t); !slices.Equal(got, want) {
				t.Errorf("Chrome got %v, want %v", got, want)
			}
		}
		open(false, "Page.handleJavaScriptDialog")
		s.Show("T", false)
		open(false, "Page.handleJavaScriptDialog")
		s.Show("U", true)
		open(false, "Page.handleJavaScriptDialog")
		s.Show("T", true)
		open(true)
		b.LeaveDialog(Event{Session: "page", Params: []byte(`{"type":"alert"}`)})
		if got := b.mux.sent(t); !slices.Equal(got, []string{"Page.handleJavaScriptDialog"}) {
			t.Errorf("a dialog that is left: Chrome got %v", got)
		}
		done := make(chan struct{})
		go func() { b.mux.receive(slices.Clone(opening)); close(done) }()
		synctest.Wait()
		s.Close()
		<-done
		if got := b.mux.sent(t); !slices.Equal(got, []string{"Page.handleJavaScriptDialog"}) {
			t.Errorf("a dialog that nobody took: Chrome got %v", got)
		}
	})
}
