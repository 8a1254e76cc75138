package browser

import "time"

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
