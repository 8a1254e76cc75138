package browser

import (
	"encoding/json"
	"time"
)

// The controller must not resume a target that a client holds. For most targets Chrome counts the sessions that wait.
//
// Pages that their opener can reach, and shared workers, are paused in the renderer by one flag, which the first resume clears
// (third_party/blink/renderer/core/inspector/devtools_agent.cc). A service worker waits for all sessions, but its renderer gets them one by
// one and continues at the first resume. A later session misses the first events, such as the response to the worker's script.

// hasSingleResume reports whether the first resume of any session lets a target run.
func hasSingleResume(info TargetInfo) bool {
	switch info.Type {
	case "page":
		return info.CanAccessOpener
	case "shared_worker", "service_worker":
		return true
	}
	return false
}

// resume resumes a target on the controller's session.
func (ctl *controller) resume(s *session) {
	ctl.mux.send(s.id, "Runtime.runIfWaitingForDebugger", nil, nil)
}

// resumeAfterClients resumes a target once no client holds it. It is called after the overrides are acknowledged: the sessions that clients
// attach with the controller's are known by then. A client that attaches through tabs learns of a page later, and has attachTimeout for
// that.
func (ctl *controller) resumeAfterClients(s *session, state *overrideState) {
	late := time.After(attachTimeout)
	for byTab := true; ; {
		held, changed := ctl.mux.isHeldByClient(s.target, byTab)
		if !held {
			break
		}
		select {
		case <-changed:
		case <-late:
			byTab = false
		case <-state.detached:
			return
		}
	}
	ctl.resume(s)
}

// holdsTarget reports whether a client that attaches below parent holds the new target. Chrome says so in waits, except for the page of a
// paused tab, which is paused too. m.mu is held.
func holdsTarget(parent *session, waits bool) bool {
	return waits || parent.kind == "tab" && parent.holds
}

// isHeldByClient reports whether a client holds a target. With byTab a client that holds a tab and has not attached to its page counts too.
// changed is closed when the answer may be different.
func (m *mux) isHeldByClient(target string, byTab bool) (held bool, changed <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		if s.holds && (s.target == target || byTab && s.kind == "tab" && !m.hasChild(s)) {
			return true, m.holdsChanged
		}
	}
	return false, nil
}

// hasChild reports whether s has sessions below it. m.mu is held.
func (m *mux) hasChild(s *session) bool {
	for _, other := range m.sessions {
		if other.parent == s.id {
			return true
		}
	}
	return false
}

// endHold records that s does not hold its target any more. m.mu is held.
func (m *mux) endHold(s *session) {
	if s.holds {
		s.holds = false
		m.signalHolds()
	}
}

// signalHolds wakes the goroutines that wait for clients. m.mu is held.
func (m *mux) signalHolds() {
	close(m.holdsChanged)
	m.holdsChanged = make(chan struct{})
}

// hold keeps back a command that resumes a target before its overrides are in effect, and the commands after it. A page must not run its
// first line without overrides. m.mu is held.
func (m *mux) hold(s *session, cmd command) bool {
	switch {
	case s.isHeld:
	case cmd.method == "Runtime.runIfWaitingForDebugger" && isControlled(s.kind):
		state := m.controller.stateOf(s.target)
		if isClosed(state.done) {
			return false
		}
		s.isHeld = true
		go m.release(s, state)
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

// release sends the held commands once the target's overrides are in effect. The controller has sent them at once, and a busy machine may
// take any time to apply them. A target that the controller has not attached to within attachTimeout is closed.
func (m *mux) release(s *session, state *overrideState) {
	defer m.controller.forgetUnattached(s.target, state)
	select {
	case <-state.done:
	case <-s.client.done:
	case <-time.After(attachTimeout):
		if !m.awaitUnknown(s, state) {
			m.refuseHeld(s)
			return
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unhold(s)
}

// awaitUnknown waits longer for a target without overrides after attachTimeout. A target that the controller has not attached to is closed.
// If Chrome does not close it, awaitUnknown returns false: the target stays paused, and the client gets an error.
func (m *mux) awaitUnknown(s *session, state *overrideState) bool {
	var late <-chan time.Time
	if !m.controller.isAttached(state) {
		m.controller.closeTarget(s, "the controller is not attached to it")
		late = time.After(attachTimeout)
	}
	select {
	case <-state.done:
	case <-s.client.done:
	case <-late:
		return m.controller.isAttached(state) // it was attached late, and is about to close
	}
	return true
}

// notOverridden is the error for a target that could neither be given its overrides nor closed.
const notOverridden = "The target could not be made what the profile says, and does not run"

// refuseHeld answers the held commands with an error. The target stays paused.
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
		}{p.clientID, ProtocolError{Code: codeServer, Message: notOverridden}, s.id})
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

// unhold sends the held commands in order, if the session still exists. m.mu is held.
func (m *mux) unhold(s *session) {
	if m.sessions[s.id] == s {
		for _, cmd := range s.held {
			_ = m.in.enqueue(cmd.encode())
		}
	}
	s.held, s.heldBytes, s.isHeld = nil, 0, false
}
