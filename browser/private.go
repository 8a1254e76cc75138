package browser

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// This file opens a page of Chrome's own for a moment. It is the owner's alone: a client could do in it what clients may not (guard.go), so no session
// of a client's is on it when it goes there, and none gets on it.

// privatePage is the page of that kind that is open, or was last. It is known by its address before Chrome has answered with its id; mux.mu guards it.
type privatePage struct {
	address, target string
	seen            bool // clients have heard of it: Chrome announced it without its address
}

// privateMade is Chrome's answer to our asking for the page.
type privateMade struct {
	target string
	off    []<-chan struct{} // closed when clients' sessions on it have ended
	err    error
}

// openPrivate opens a blank page in the background and keeps clients off it. It may be sent to where it is to be when this has returned. leave closes
// it, and returns when it has gone; a stop waits for that.
func (b *Browser) openPrivate(ctx context.Context) (session string, leave func(), err error) {
	m, answered := b.mux, make(chan privateMade, 1)
	address := BlankPage + "#" + rand.Text()
	if !b.private.TryLock() {
		return "", func() {}, errors.New("the last page is still on its way")
	}
	select {
	case <-b.halt:
		b.private.Unlock()
		return "", func() {}, errors.New("the browser is being stopped")
	default:
	}
	m.mu.Lock()
	m.private = privatePage{address: address}
	m.mu.Unlock()
	m.send("", "Target.createTarget", map[string]any{"url": address, "background": true}, func(a answer) {
		var page struct {
			TargetID string `json:"targetId"`
		}
		if err := errors.Join(a.err(), json.Unmarshal(a.Result, &page)); err != nil {
			answered <- privateMade{err: fmt.Errorf("open a page: %w", err)}
			return
		}
		answered <- privateMade{target: page.TargetID, off: m.keepOff(page.TargetID)}
	})
	var made privateMade
	closed := func() {
		defer b.private.Unlock()
		if made.target != "" {
			b.closeAndWait(made.target)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.private.address == address {
			m.private.address = "" // the id stays: its last event may be on its way
		}
	}
	select {
	case made = <-answered:
	case <-ctx.Done():
		go func() { // it may come all the same; the end of the pipe is an answer too
			made = <-answered
			closed()
		}()
		return "", func() {}, ctx.Err()
	}
	if made.err != nil {
		return "", closed, made.err
	}
	m.owner.awaitDressed(ctx, made.target)
	for _, detached := range made.off {
		select {
		case <-detached:
		case <-ctx.Done():
			return "", closed, ctx.Err()
		}
	}
	for _, s := range m.owned(made.target) {
		return s.id, closed, nil
	}
	return "", closed, errSessionGone
}

// keepOff names the private page and ends the sessions of clients that are on it. It runs on the reading goroutine.
func (m *mux) keepOff(target string) (detached []<-chan struct{}) {
	m.mu.Lock()
	m.private.seen = m.private.target == ""
	m.private.target = target
	var theirs []*session
	for _, s := range m.sessions {
		if s.client != nil && s.target == target {
			theirs = append(theirs, s)
		}
	}
	m.mu.Unlock()
	for _, s := range theirs {
		done := make(chan struct{})
		detached = append(detached, done)
		m.detach(s.parent, s.id, func(answer) { close(done) })
	}
	return detached
}

// detach ends a session below parent.
func (m *mux) detach(parent, id string, done func(answer)) {
	m.send(parent, "Target.detachFromTarget", map[string]string{"sessionId": id}, done)
}

// hasPrivate reports whether the private page is open, or about to be.
func (m *mux) hasPrivate() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.private.address != ""
}

// isPrivate reports whether a target is the private page.
func (m *mux) isPrivate(target string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.private.target == target
}

// secret reports whether an event is about the private page, and not for clients and the live view. A client that Chrome has attached to the page is
// detached; its session is in no book of ours, so that nothing of the client's gets there meanwhile.
func (m *mux) secret(s *session, method string, params []byte) bool {
	m.mu.Lock()
	private := m.private
	m.mu.Unlock()
	if private == (privatePage{}) || !slices.Contains([]string{"Target.targetCreated", "Target.targetInfoChanged", "Target.targetDestroyed", "Target.targetCrashed",
		"Target.attachedToTarget", "Target.detachedFromTarget"}, method) {
		return false
	}
	var p struct {
		TargetID   string     `json:"targetId"`
		SessionID  string     `json:"sessionId"`
		TargetInfo TargetInfo `json:"targetInfo"`
	}
	if json.Unmarshal(params, &p) != nil {
		return false
	}
	if info := p.TargetInfo; private.address != "" && info.Type == "page" && info.URL == private.address {
		private.target = info.TargetID
		m.mu.Lock()
		m.private.target = info.TargetID
		m.mu.Unlock()
	}
	if private.target == "" || private.target != p.TargetID && private.target != p.TargetInfo.TargetID {
		return false
	}
	switch {
	case method == "Target.attachedToTarget" && s != nil && s.client != nil:
		m.detach(s.id, p.SessionID, nil)
		return true
	case method == "Target.detachedFromTarget":
		return m.session(p.SessionID) == nil
	}
	return !private.seen
}
