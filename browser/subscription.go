package browser

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
)

// Subscription delivers what happens in the browser to one reader, in order. It delivers Chrome's events on the controller's sessions, the
// answers to the reader's own commands, and what the multiplexer itself observes. Events of clients' sessions are not delivered.
//
// News is delivered one at a time and never queued. A slow reader delays Chrome, so that a page cannot fill the memory with events.
type Subscription struct {
	mux    *mux
	news   chan News
	closed chan struct{}

	mu      sync.Mutex
	shown   string // the target that the reader shows
	dialogs bool   // the reader answers the dialogs of shown
}

// News is what a Subscription delivers: an Event, an Answer, a Blocked or a ClientInput.
type News any

type (
	// Event is an event of Chrome's on a session of the controller.
	Event struct {
		Session, Target string // both "" for an event of the browser itself
		Method          string
		Params          json.RawMessage
		Claimed         bool // a dialog that the reader must answer or hand back with LeaveDialog
	}
	// Answer is Chrome's answer to a command that was sent with Send.
	Answer struct {
		Tag    any // as given to Send
		Result json.RawMessage
		Err    error // a *ProtocolError if Chrome refused the command
	}
	// Blocked says that a page is navigating to, or shows, an address that clients and viewers must not see.
	Blocked struct{ Target string }
	// ClientInput is an input command that a client of the gateway has sent to a page (CDP domain Input).
	ClientInput struct {
		Target, Method string
		Params         json.RawMessage
	}
)

// errUnsubscribed is what Next returns after Close.
var errUnsubscribed = errors.New("the subscription is closed")

// Subscribe begins a subscription. Next must be called until the subscription is closed. It fails before the browser is launched.
func (b *Browser) Subscribe() (*Subscription, error) {
	m, err := b.running()
	if err != nil {
		return nil, err
	}
	s := &Subscription{mux: m, news: make(chan News), closed: make(chan struct{})}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.subscriptions = append(slices.Clone(m.subscriptions), s)
	return s, nil
}

// Close ends the subscription. Answers to commands under way are dropped.
func (s *Subscription) Close() {
	s.mux.mu.Lock()
	defer s.mux.mu.Unlock()
	if i := slices.Index(s.mux.subscriptions, s); i >= 0 {
		s.mux.subscriptions = slices.Delete(slices.Clone(s.mux.subscriptions), i, i+1)
		close(s.closed)
	}
}

// Next waits for news. It fails when ctx ends, after Close, and when the browser has gone.
func (s *Subscription) Next(ctx context.Context) (News, error) {
	select {
	case n := <-s.news:
		return n, nil
	case <-s.closed:
		return nil, errUnsubscribed
	case <-s.mux.in.done:
		return nil, errPipeEnded
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Send sends Chrome a command on a session of the controller ("": the browser's own) and returns at once. The Answer with the same tag is
// delivered as news. After Close commands are still sent, and their answers are dropped.
func (s *Subscription) Send(session, method string, params, tag any) {
	s.mux.send(session, method, params, func(a answer) {
		news := Answer{tag, a.Result, a.err()}
		if a.lost != nil {
			go s.deliver(news) // this may run within Send, whose caller may be the reader
			return
		}
		s.deliver(news)
	})
}

// Show tells which page the reader shows, "" for none. Front prefers that page. With dialogs the reader takes on the page's dialogs.
func (s *Subscription) Show(target string, dialogs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown, s.dialogs = target, dialogs
}

func (s *Subscription) showing() (target string, dialogs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown, s.dialogs
}

// deliver waits until the reader takes the news, and reports whether it did. No lock may be held.
func (s *Subscription) deliver(n News) bool {
	select {
	case s.news <- n:
		return true
	case <-s.closed:
	case <-s.mux.in.done:
	}
	return false
}

// subscribed returns the subscriptions. The slice is never changed.
func (m *mux) subscribed() []*Subscription {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.subscriptions
}

// publish delivers news to every subscription. It runs without any lock.
func (m *mux) publish(n News) {
	for _, s := range m.subscribed() {
		s.deliver(n)
	}
}

// publishEvent delivers an event, and reports whether a reader has taken on the dialog that it announces.
func (m *mux) publishEvent(e Event) (claimed bool) {
	for _, s := range m.subscribed() {
		target, dialogs := s.showing()
		e.Claimed = e.Method == dialogOpening && dialogs && target == e.Target
		claimed = s.deliver(e) && e.Claimed || claimed
	}
	return claimed
}

// dialogOpening announces an alert, confirm, prompt or beforeunload dialog (CDP).
const dialogOpening = "Page.javascriptDialogOpening"
