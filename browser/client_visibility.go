package browser

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// exposure is what a client's session knows of a target that was, or is, hidden from it.
type exposure struct {
	shown  bool // it has been told of the target
	hidden bool // it must be told when the target becomes visible
	attach bool // it was attached to it, or would have been
}

// exposureOf returns what s knows of a target. The caller holds mux.mu or is the reading goroutine.
func (s *session) exposureOf(target string) *exposure {
	if s.exposed == nil {
		s.exposed = map[string]*exposure{}
	}
	if s.exposed[target] == nil {
		s.exposed[target] = &exposure{}
	}
	return s.exposed[target]
}

// hidesEvent reports whether a client must not get an event. It sends what the client gets instead.
func (m *mux) hidesEvent(s *session, method string, params []byte) bool {
	if !strings.HasPrefix(method, "Target.") {
		return false
	}
	var p struct {
		TargetID   string          `json:"targetId"`
		SessionID  string          `json:"sessionId"`
		Waits      bool            `json:"waitingForDebugger"`
		TargetInfo json.RawMessage `json:"targetInfo"`
	}
	var info TargetInfo
	if json.Unmarshal(params, &p) != nil || p.TargetInfo != nil && json.Unmarshal(p.TargetInfo, &info) != nil {
		return false
	}
	switch method {
	case "Target.receivedMessageFromTarget": // on a session that is not flat
		return m.session(p.SessionID) == nil
	case "Target.attachedToTarget":
		if !m.isHidden(info) {
			return false
		}
		m.mu.Lock()
		s.exposureOf(info.TargetID).attach = true
		m.mu.Unlock()
		m.rejectSession(s, p.SessionID, info, p.Waits)
		return true
	case "Target.targetCreated", "Target.targetInfoChanged":
		return m.hidesTargetInfo(s, method, p.TargetInfo, info)
	case "Target.targetDestroyed", "Target.targetCrashed":
		m.mu.Lock()
		defer m.mu.Unlock()
		hidden := s.exposed[p.TargetID] != nil && s.exposed[p.TargetID].hidden
		if method == "Target.targetDestroyed" {
			delete(s.exposed, p.TargetID)
		}
		return hidden
	}
	return false
}

// hidesTargetInfo is hidesEvent for events about a target. A blocked target appears destroyed to the client, an unblocked one appears new.
func (m *mux) hidesTargetInfo(s *session, method string, raw json.RawMessage, info TargetInfo) bool {
	withheld := m.isHidden(info)
	var was exposure
	m.mu.Lock()
	if t := s.exposed[info.TargetID]; t != nil {
		was = *t
	}
	if method == "Target.targetCreated" || was.hidden || was.shown {
		t := s.exposureOf(info.TargetID)
		t.shown, t.hidden = !withheld, withheld
	}
	m.mu.Unlock()
	switch {
	case withheld && was.shown:
		s.client.sendEvent(s, "Target.targetDestroyed", map[string]string{"targetId": info.TargetID})
	case !withheld && was.hidden && method == "Target.targetInfoChanged":
		s.client.sendEvent(s, "Target.targetCreated", map[string]json.RawMessage{"targetInfo": m.withClientAttached(raw, info.TargetID)})
		return true
	}
	return withheld
}

// sendEvent sends a client an event that Chrome has not sent.
func (c *client) sendEvent(s *session, method string, params any) {
	e := struct {
		Method    string `json:"method"`
		Params    any    `json:"params"`
		SessionID string `json:"sessionId,omitempty"`
	}{method, params, s.id}
	switch s.id {
	case c.base:
		e.SessionID = ""
	case c.root:
		return
	}
	if msg, err := json.Marshal(e); err == nil {
		c.send(msg)
	}
}

// rejectSession ends a session that Chrome has just created for a client and that is not registered. A paused target is resumed first, once
// it has its overrides: else it would never load its document.
func (m *mux) rejectSession(parent *session, id string, info TargetInfo, waits bool) {
	if !waits {
		m.detach(parent.id, id, nil)
		return
	}
	go func() {
		m.controller.awaitSent(info.TargetID)
		m.send(id, "Runtime.runIfWaitingForDebugger", nil, nil)
		m.detach(parent.id, id, nil)
		m.controller.closeIfBlocked(info.TargetID, info.URL)
	}()
}

// namesBlockedTarget reports whether a command names a target that clients must not see. m.mu is held.
func (m *mux) namesBlockedTarget(method string, params []byte) bool {
	if len(m.blocked.targets) == 0 ||
		!strings.HasPrefix(method, "Target.") && !strings.HasPrefix(method, "Browser.") {
		return false
	}
	return slices.ContainsFunc(texts(members(params)["targetId"]), m.blocked.has)
}

// noSuchTarget is Chrome's error for a target that does not exist.
const noSuchTarget = "No target with given id found"

// answerFilter returns a function that removes hidden targets from the result of a command, nil if the command needs none.
func (m *mux) answerFilter(method string) func(json.RawMessage) (json.RawMessage, bool) {
	switch method {
	case "Target.getTargets":
		return m.visibleTargets
	case "Target.getTargetInfo":
		return func(result json.RawMessage) (json.RawMessage, bool) {
			var got reference
			ok := json.Unmarshal(result, &got) == nil && !m.isHidden(got.TargetInfo)
			return m.withClientAttached(result, got.TargetInfo.TargetID), ok
		}
	case "Page.getNavigationHistory":
		return m.visibleHistory
	}
	return nil
}

func (m *mux) visibleTargets(result json.RawMessage) (json.RawMessage, bool) {
	var got struct {
		TargetInfos []json.RawMessage `json:"targetInfos"`
	}
	if json.Unmarshal(result, &got) != nil {
		return nil, false
	}
	shown := []json.RawMessage{}
	for _, raw := range got.TargetInfos {
		var info TargetInfo
		if json.Unmarshal(raw, &info) == nil && !m.isHidden(info) {
			shown = append(shown, m.withClientAttached(raw, info.TargetID))
		}
	}
	got.TargetInfos = shown
	out, err := json.Marshal(got)
	return out, err == nil
}

// visibleHistory removes title and address of blocked entries from the result of Page.getNavigationHistory.
func (m *mux) visibleHistory(result json.RawMessage) (json.RawMessage, bool) {
	var got struct {
		Current json.RawMessage              `json:"currentIndex"`
		Entries []map[string]json.RawMessage `json:"entries"`
	}
	if json.Unmarshal(result, &got) != nil {
		return nil, false
	}
	for _, entry := range got.Entries {
		var address string
		if json.Unmarshal(entry["url"], &address) != nil || m.blocked.extensions.isBlocked(address) {
			nowhere := json.RawMessage(`"` + BlankPage + `"`)
			entry["title"], entry["url"], entry["userTypedURL"] = json.RawMessage(`""`), nowhere, nowhere
		}
	}
	out, err := json.Marshal(got)
	return out, err == nil
}

// clientAnswer returns Chrome's answer as the client gets it, filtered if necessary.
func (p pending) clientAnswer(msg []byte, e envelope) []byte {
	if p.filter == nil {
		return p.client.rewrite(msg, e, p.clientID)
	}
	a := parseAnswer(msg)
	if a.err() != nil {
		return p.client.rewrite(msg, e, p.clientID)
	}
	body, ok := p.filter(a.Result)
	text := append([]byte(`"result":`), body...)
	if !ok {
		fault, _ := json.Marshal(ProtocolError{Code: codeServer, Message: noSuchTarget})
		text = append([]byte(`"error":`), fault...)
	}
	out := append([]byte(`{"id":0,`), text...)
	if e.session.there() {
		out = append(append(out, `,"sessionId":`...), e.session.in(msg)...)
	}
	out = append(out, '}')
	again, err := scan(out, maxDepth)
	if err != nil {
		return nil
	}
	return p.client.rewrite(out, again, p.clientID)
}

// isHidden reports whether clients must not see a target: a blocked one, or a service worker without a browser context. Chrome keeps
// workers of contexts that are gone, and Playwright fails on a target without a context.
func (m *mux) isHidden(t TargetInfo) bool {
	return m.isBlocked(t.TargetID) || m.blocked.extensions.isBlocked(t.URL) || t.Type == "service_worker" && t.Context == ""
}

// rewriteTargetInfo returns an event of a client's session with "attached" of its TargetInfo (CDP) meaning clients only. Chrome says that
// every target is attached, since the controller is.
func (m *mux) rewriteTargetInfo(method string, msg []byte, e envelope) ([]byte, envelope) {
	if method != "Target.targetCreated" && method != "Target.targetInfoChanged" {
		return msg, e
	}
	var p reference
	if json.Unmarshal(e.params.in(msg), &p) != nil {
		return msg, e
	}
	out := m.withClientAttached(msg, p.TargetInfo.TargetID)
	again, err := scan(out, maxDepth)
	if err != nil { // only one word of a valid message has changed
		return msg, e
	}
	return out, again
}

// withClientAttached sets "attached" in a TargetInfo of Chrome's to false if no client is attached. A client that looks for an unattached
// target would find none otherwise. Chrome's JSON has no spaces, and quotation marks within strings are escaped.
func (m *mux) withClientAttached(info []byte, target string) []byte {
	if m.hasClient(target) {
		return info
	}
	return bytes.Replace(info, []byte(`"attached":true`), []byte(`"attached":false`), 1)
}
