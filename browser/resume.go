package browser

import "time"

// This file keeps the owner from letting a target run that a client holds. Chrome counts the sessions that wait for most targets. A page that its opener
// can reach and a shared worker it pauses in the renderer, by one flag: the first resume clears it, whoever sends it
// (third_party/blink/renderer/core/inspector/devtools_agent.cc). A service worker waits for all sessions, but its renderer gets them one after the other, and
// goes on at the first resume: who comes behind it misses what the worker does first, the response to its own script.

// hasSingleResume reports whether the first resume lets a target of this kind run.
func hasSingleResume(info TargetInfo) bool {
	switch info.Type {
	case "page":
		return info.CanAccessOpener
	case "shared_worker", "service_worker":
		return true
	}
	return false
}

// resume lets a target run, as far as the owner is concerned.
func (o *controller) resume(s *session) {
	o.mux.send(s.id, "Runtime.runIfWaitingForDebugger", nil, nil)
}

// resumeAfterClients is resume when no client holds the target any longer. It comes when the owner's orders are acknowledged: whose session attaches with
// the owner's is known then. A client that attaches by tabs is told of a page later; it has patience for that.
func (o *controller) resumeAfterClients(s *session, d *overrideState) {
	timer := time.NewTimer(attachTimeout)
	defer timer.Stop()
	for byTab := true; ; {
		held, changed := o.mux.isHeldByClient(s.target, byTab)
		if !held {
			break
		}
		select {
		case <-changed:
		case <-timer.C:
			byTab = false
		case <-d.detached:
			return
		}
	}
	o.resume(s)
}

// holdsTarget reports whether a client that attaches below parent holds the new target: Chrome says so, or it has attached to the tab that waits. Of the page in
// that one Chrome says that it does not wait, and yet it does. m.mu is held.
func holdsTarget(parent *session, waits bool) bool {
	return waits || parent.kind == "tab" && parent.holds
}

// isHeldByClient reports whether a client holds a target, with byTab also whether one has a tab that waits and has not attached to what is in it. changed is closed
// when that may be different.
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

// hasChild reports whether there is a session below s. m.mu is held.
func (m *mux) hasChild(s *session) bool {
	for _, other := range m.sessions {
		if other.parent == s.id {
			return true
		}
	}
	return false
}

// endHold notes that s holds its target no longer. m.mu is held.
func (m *mux) endHold(s *session) {
	if s.holds {
		s.holds = false
		m.signalHolds()
	}
}

// signalHolds wakes who waits for clients. m.mu is held.
func (m *mux) signalHolds() {
	close(m.holdsChanged)
	m.holdsChanged = make(chan struct{})
}
