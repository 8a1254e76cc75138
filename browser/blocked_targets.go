package browser

import (
	"cmp"
	"encoding/json"
)

// Clients must not see a target whose address is blocked (extensions.isBlocked). Chrome tells the controller of a navigation long before
// its document is there, and the pipe keeps the order. From then on clients get nothing from such a target and cannot send anything to it.

// blockedTargets are the targets and frames that clients must not see, by id. A frame that moves to a process of its own becomes a target
// with the same id. mux.mu guards them.
type blockedTargets struct {
	extensions *extensions
	targets    map[string]departure
}

// departure says how far a blocked target is on its way to an address that is not blocked. The zero value is one that stays.
type departure struct {
	isLeaving bool
	loader    string // id of that navigation
	hasLeft   bool   // its renderer has committed that navigation
}

func (t *blockedTargets) has(id string) bool {
	_, blocked := t.targets[id]
	return blocked
}

// isBlocked reports whether clients must not see a target.
func (m *mux) isBlocked(target string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.blocked.has(target)
}

// frameEvent is what is read of the events about navigations of frames and targets.
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

// trackNavigation follows navigations on the controller's sessions, before the event is passed on. It runs on the reading goroutine.
func (m *mux) trackNavigation(method string, params []byte) {
	switch method {
	case "Page.frameStartedNavigating", "Page.frameNavigated", "Page.frameDetached", "Target.targetCreated", "Target.attachedToTarget",
		"Target.targetInfoChanged", "Target.detachedFromTarget":
	default:
		return
	}
	var p frameEvent
	if json.Unmarshal(params, &p) != nil {
		return
	}
	m.passkeys.onVisit(cmp.Or(p.FrameID, p.Frame.ID), cmp.Or(p.URL, p.Frame.URL), method == "Page.frameStartedNavigating")
	switch method {
	case "Page.frameStartedNavigating":
		if m.blocked.extensions.isBlocked(p.URL) {
			m.block(p.FrameID, false)
		} else {
			m.noteLeaving(p.FrameID, p.LoaderID)
		}
	case "Page.frameNavigated": // only this event says that a document is there; a target's address changes earlier
		if m.blocked.extensions.isBlocked(cmp.Or(p.Frame.Unreachable, p.Frame.URL)) {
			m.block(p.Frame.ID, true)
			m.controller.closeIfBlocked(p.Frame.ID, cmp.Or(p.Frame.Unreachable, p.Frame.URL))
		} else if m.leavesWith(p.Frame.ID, p.Frame.LoaderID, p.Type) {
			m.unblockIfLeft(p.Frame.ID)
		}
		m.controller.onDocument(p.Frame.ID)
	case "Target.targetCreated", "Target.attachedToTarget", "Target.targetInfoChanged":
		if m.mustHide(p.TargetInfo) {
			m.block(p.TargetInfo.TargetID, true)
		} else {
			m.unblockIfLeft(p.TargetInfo.TargetID)
		}
		if p.TargetInfo.Type == "page" {
			m.controller.closeIfBlocked(p.TargetInfo.TargetID, p.TargetInfo.URL)
			m.controller.onPageChanged(p.TargetInfo.TargetID)
		}
	case "Page.frameDetached":
		if p.Reason != "swap" { // swap: the frame moves to another process
			m.forgetBlocked(p.FrameID)
		}
	case "Target.detachedFromTarget":
		if s := m.session(p.SessionID); s != nil {
			m.forgetBlocked(s.target)
		}
	}
}

// mustHide reports whether a target is to be blocked: it shows a blocked address, or visits origins.
func (m *mux) mustHide(t TargetInfo) bool {
	return m.isVisit(t) || m.blocked.extensions.isBlocked(t.URL)
}

func (m *mux) forgetBlocked(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.blocked.targets, id)
	for _, s := range m.sessions {
		if t := s.exposed[id]; t != nil && !t.shown && !t.hidden {
			delete(s.exposed, id)
		}
	}
}

// noteLeaving records that a blocked frame is navigating to an address that is not blocked.
func (m *mux) noteLeaving(frame, loader string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d, blocked := m.blocked.targets[frame]; blocked {
		d.isLeaving, d.loader = true, loader
		m.blocked.targets[frame] = d
	}
}

// leavesWith reports whether a document in a blocked frame is that of the last navigation. It may be an earlier one, since renderers report
// late what Chrome announces early. A document from the back/forward cache keeps its old loader.
func (m *mux) leavesWith(frame, loader, kind string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.blocked.targets[frame]
	if _, visit := m.visits.origins[frame]; visit {
		return false
	}
	if !d.isLeaving || loader != d.loader && kind != "BackForwardCacheRestore" {
		return false
	}
	d.hasLeft = true
	m.blocked.targets[frame] = d
	return true
}

// unblockIfLeft unblocks a page once the browser process has left the blocked document too. Its event may come after the renderer's, and a
// session that is attached in between would begin in the old document. A frame with a process of its own stays blocked until it has gone.
func (m *mux) unblockIfLeft(target string) {
	left := func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.blocked.targets[target].hasLeft
	}
	p, isPage := m.controller.page(target)
	if !isPage || !left() {
		return
	}
	m.send(p.Session, "Page.getNavigationHistory", nil, func(a answer) {
		var h navigationHistory
		if a.decode(&h) != nil {
			return
		}
		if entry, ok := h.current(); ok && !m.blocked.extensions.isBlocked(entry.URL) && left() {
			m.unblock(target)
		}
	})
}

// block ends the clients' sessions on a target. Their further events are dropped. When block returns, the commands that detach them are
// queued for Chrome, before any later command.
func (m *mux) block(target string, arrived bool) {
	m.mu.Lock()
	if !arrived || !m.blocked.has(target) {
		m.blocked.targets[target] = departure{}
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

// unblock makes a target visible again when its document is not blocked any more. Clients are told of it, and sessions that were attached,
// or would have been, are attached.
func (m *mux) unblock(target string) {
	m.mu.Lock()
	delete(m.blocked.targets, target)
	m.mu.Unlock()
	m.send("", "Target.getTargetInfo", map[string]string{"targetId": target}, func(a answer) {
		var got struct {
			TargetInfo json.RawMessage `json:"targetInfo"`
		}
		var info TargetInfo
		if a.decode(&got) != nil || json.Unmarshal(got.TargetInfo, &info) != nil || m.isHidden(info) {
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
		raw := m.withClientAttached(got.TargetInfo, target)
		for _, s := range hear {
			s.client.sendEvent(s, "Target.targetCreated", map[string]json.RawMessage{"targetInfo": raw})
		}
		for _, s := range attach {
			m.send(s.id, "Target.attachToTarget", map[string]any{"targetId": target, "flatten": true}, nil)
		}
	})
}
