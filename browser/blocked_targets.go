package browser

import (
	"cmp"
	"encoding/json"
)

// This file keeps clients off targets whose address is closed to them (closed_pages.go). The owner is told of every navigation when it starts, long before
// its document is there, and the pipe keeps the order: from then on nothing of such a target gets to a client, nor a command of a client's to it. What a
// client is not to have it does not hear of.

// blockedTargets are the targets and frames that clients are kept off. mux.mu guards them. A frame that gets a process of its own becomes a target with the
// frame's id.
type blockedTargets struct {
	extensions *extensions
	arrived    map[string]bool   // the document that is there is closed
	underWay   map[string]bool   // it has started on its way to such a one
	leaving    map[string]string // and since then to another that is not: the loader of that navigation
	left       map[string]bool   // the renderer says that it is there
}

func newBlockedTargets() blockedTargets {
	return blockedTargets{arrived: map[string]bool{}, underWay: map[string]bool{}, leaving: map[string]string{}, left: map[string]bool{}}
}

func (t *blockedTargets) has(id string) bool { return t.arrived[id] || t.underWay[id] }

// isBlocked reports whether clients are kept off a target.
func (m *mux) isBlocked(target string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.blocked.has(target)
}

// frameEvent is what is read of the events by which frames and targets say where they go.
type frameEvent struct {
	FrameID   string `json:"frameId"`
	URL       string `json:"url"`
	LoaderID  string `json:"loaderId"`
	Reason    string `json:"reason"`
	Type      string `json:"type"`
	SessionID string `json:"sessionId"`
	Frame     struct {
		ID          string `json:"id"`
		URL         string `json:"url"`
		LoaderID    string `json:"loaderId"`
		Unreachable string `json:"unreachableUrl"`
	} `json:"frame"`
	TargetInfo TargetInfo `json:"targetInfo"`
}

// trackNavigation follows on the owner's sessions where frames go, before anybody hears of it. It runs on the reading goroutine.
func (m *mux) trackNavigation(method string, params []byte) {
	switch method {
	case "Page.frameStartedNavigating", "Page.frameNavigated", "Page.frameDetached", "Target.targetCreated", "Target.attachedToTarget", "Target.targetInfoChanged", "Target.detachedFromTarget":
	default:
		return
	}
	var p frameEvent
	if json.Unmarshal(params, &p) != nil {
		return
	}
	switch method {
	case "Page.frameStartedNavigating":
		if m.blocked.extensions.isBlocked(p.URL) {
			m.block(p.FrameID, false)
		} else {
			m.noteLeaving(p.FrameID, p.LoaderID)
		}
	case "Page.frameNavigated": // alone says that a document is there; of a target's address Chrome speaks earlier
		if m.blocked.extensions.isBlocked(cmp.Or(p.Frame.Unreachable, p.Frame.URL)) {
			m.block(p.Frame.ID, true)
			m.controller.closeIfBlocked(p.Frame.ID, cmp.Or(p.Frame.Unreachable, p.Frame.URL))
		} else if m.hasLeft(p.Frame.ID, p.Frame.LoaderID, p.Type) {
			m.unblockIfLeft(p.Frame.ID)
		}
		m.controller.onDocument(p.Frame.ID)
	case "Target.targetCreated", "Target.attachedToTarget", "Target.targetInfoChanged":
		if m.blocked.extensions.isBlocked(p.TargetInfo.URL) {
			m.block(p.TargetInfo.TargetID, true)
		} else {
			m.unblockIfLeft(p.TargetInfo.TargetID)
		}
		if p.TargetInfo.Type == "page" {
			m.controller.closeIfBlocked(p.TargetInfo.TargetID, p.TargetInfo.URL)
			m.controller.onPageChanged(p.TargetInfo.TargetID)
		}
	case "Page.frameDetached":
		if p.Reason != "swap" { // to a process of its own
			m.forgetBlocked(p.FrameID)
		}
	case "Target.detachedFromTarget":
		if s := m.session(p.SessionID); s != nil {
			m.forgetBlocked(s.target)
		}
	}
}

func (m *mux) forgetBlocked(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.blocked.arrived, id)
	delete(m.blocked.underWay, id)
	delete(m.blocked.leaving, id)
	delete(m.blocked.left, id)
	for _, s := range m.sessions {
		if t := s.exposed[id]; t != nil && !t.shown && !t.hidden {
			delete(s.exposed, id)
		}
	}
}

// noteLeaving notes that a frame that is shut has started on its way to a document that clients may have.
func (m *mux) noteLeaving(frame, loader string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.blocked.has(frame) {
		m.blocked.leaving[frame] = loader
	}
}

// hasLeft reports whether a document that is there in a frame that is shut is what the frame went to last. It may be the one of before: a renderer says late
// what it has, and Chrome early where it goes. A document out of the cache has the loader that it had.
func (m *mux) hasLeft(frame, loader, kind string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if lead, leads := m.blocked.leaving[frame]; leads && (loader == lead || kind == "BackForwardCacheRestore") {
		m.blocked.left[frame] = true
		return true
	}
	return false
}

// unblockIfLeft lets clients at a page again when the browser process, too, has left the closed document: its word of that may come after the renderer's, and a
// session that is made before begins in the old document. A frame with a process of its own stays shut until it has gone.
func (m *mux) unblockIfLeft(target string) {
	left := func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.blocked.left[target]
	}
	p, isPage := m.controller.page(target)
	if !isPage || !left() {
		return
	}
	m.send(p.Session, "Page.getNavigationHistory", nil, func(a answer) {
		var h navigationHistory
		if a.err() != nil || json.Unmarshal(a.Result, &h) != nil {
			return
		}
		if entry, ok := h.current(); ok && !m.blocked.extensions.isBlocked(entry.URL) && left() {
			m.unblock(target)
		}
	})
}

// block ends the sessions of clients on a target. What Chrome says on them from now on goes to nobody; that they end is on its way to Chrome when this
// returns, before whatever is sent after it.
func (m *mux) block(target string, arrived bool) {
	m.mu.Lock()
	if arrived {
		delete(m.blocked.underWay, target)
		m.blocked.arrived[target] = true
	} else {
		delete(m.blocked.leaving, target)
		delete(m.blocked.left, target)
		m.blocked.underWay[target] = true
	}
	var off []*session
	var below [][]*session
	var calls []pending
	for _, s := range m.sessions {
		if s.client == nil || s.target != target || s.kind == "browser" {
			continue
		}
		if parent := m.sessions[s.parent]; parent != nil {
			parent.exposureOf(target).attach = true
		}
		gone, lost := m.removeSession(s)
		off, below, calls = append(off, s), append(below, gone), append(calls, lost...)
	}
	m.mu.Unlock()
	failCalls(calls, errSessionGone)
	for i, s := range off {
		m.detach(s.parent, s.id, func(answer) {
			for _, gone := range below[i] {
				m.controller.onClientDetached(gone)
			}
		})
		for _, gone := range below[i] {
			gone.client.sessionEnded(gone)
		}
	}
	m.publish(Blocked{target})
}

// unblock lets clients at a target whose document is not closed any more: they hear of it, and those that were attached, or would have been, are attached.
func (m *mux) unblock(target string) {
	m.mu.Lock()
	delete(m.blocked.arrived, target)
	delete(m.blocked.underWay, target)
	delete(m.blocked.leaving, target)
	delete(m.blocked.left, target)
	m.mu.Unlock()
	m.send("", "Target.getTargetInfo", map[string]string{"targetId": target}, func(a answer) {
		var got struct {
			TargetInfo json.RawMessage `json:"targetInfo"`
		}
		var info TargetInfo
		if a.err() != nil || json.Unmarshal(a.Result, &got) != nil || json.Unmarshal(got.TargetInfo, &info) != nil || m.isHidden(info) {
			return
		}
		m.mu.Lock()
		var hear, attach []*session
		for _, s := range m.sessions {
			if t := s.exposed[target]; s.client != nil && t != nil {
				if t.hidden {
					hear = append(hear, s)
					t.hidden, t.shown = false, true
				}
				if t.attach && info.Type == "page" {
					attach = append(attach, s)
				}
				t.attach = false
			}
		}
		m.mu.Unlock()
		raw := m.attachedByClients(got.TargetInfo, target)
		for _, s := range hear {
			s.client.sendEvent(s, "Target.targetCreated", map[string]json.RawMessage{"targetInfo": raw})
		}
		for _, s := range attach {
			m.send(s.id, "Target.attachToTarget", map[string]any{"targetId": target, "flatten": true}, nil)
		}
	})
}
