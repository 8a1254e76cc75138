package browser

import (
	"encoding/json"
	"time"
)

// hold keeps cmd back when it is the resume of a target that the owner has not dressed yet, or comes after such a one:
// a page must not run its first line before it is what the profile says. m.mu is held.
func (m *mux) hold(s *session, cmd command) bool {
	switch {
	case s.isHeld:
	case cmd.method == "Runtime.runIfWaitingForDebugger" && isControlled(s.kind):
		dressed := m.controller.stateOf(s.target)
		if dressed.isDone() {
			return false
		}
		s.isHeld = true
		go m.release(s, dressed)
	default:
		return false
	}
	s.held = append(s.held, cmd)
	s.heldBytes += len(cmd.method) + len(cmd.params)
	if s.heldBytes > heldLimit {
		go s.client.end(errTooSlow)
	}
	return true
}

// release lets s go on when its target is dressed. The owner has sent its commands at once, so that nothing but Chrome is waited for, as long as that
// takes: a busy machine may take longer than any limit. A target that the owner does not even know after patience is closed.
func (m *mux) release(s *session, d *overrideState) {
	defer m.controller.forgetUnattached(s.target, d)
	timer := time.NewTimer(attachTimeout)
	defer timer.Stop()
	select {
	case <-d.done:
	case <-s.client.done:
	case <-timer.C:
		if !m.awaitUnknown(s, d) {
			m.refuseHeld(s)
			return
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unhold(s)
}

// awaitUnknown waits for a target that has taken all patience. One that the owner does not know is closed, and false when it cannot be: it stays as it
// is, and the client is told.
func (m *mux) awaitUnknown(s *session, d *overrideState) bool {
	timer := time.NewTimer(attachTimeout)
	defer timer.Stop()
	late := timer.C
	if m.controller.isAttached(d) {
		late = nil
	} else {
		m.controller.closeTarget(s, "the owner is not attached to it")
	}
	select {
	case <-d.done:
	case <-s.client.done:
	case <-late:
		return m.controller.isAttached(d) // it came after all, and closes now
	}
	return true
}

// notDressed is what a client gets whose target could neither be made what the profile says nor closed.
const notDressed = "The target could not be made what the profile says, and does not run"

// refuseHeld answers what is held with an error. The target still waits.
func (m *mux) refuseHeld(s *session) {
	m.mu.Lock()
	var refused [][]byte
	for _, cmd := range s.held {
		p := m.pending[cmd.id]
		delete(m.pending, cmd.id)
		refusal, _ := json.Marshal(struct {
			ID      json.RawMessage `json:"id"`
			Error   ProtocolError   `json:"error"`
			Session string          `json:"sessionId,omitempty"`
		}{p.clientID, ProtocolError{Code: codeServer, Message: notDressed}, s.id})
		refused = append(refused, refusal)
	}
	s.held, s.heldBytes, s.isHeld = nil, 0, false
	m.mu.Unlock()
	for _, msg := range refused {
		if e, err := scan(msg, maxDepth); err == nil {
			s.client.deliver(s.client.rewrite(msg, e, nil))
		}
	}
}

// unhold sends what is held, in order, if the session is still there. m.mu is held.
func (m *mux) unhold(s *session) {
	if m.sessions[s.id] == s {
		for _, cmd := range s.held {
			_ = m.in.enqueueAlways(cmd.encode())
		}
	}
	s.held, s.heldBytes, s.isHeld = nil, 0, false
}
