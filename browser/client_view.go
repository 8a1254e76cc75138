package browser

import (
	"encoding/json"
	"slices"
	"strings"
)

// hearsay is what a client's session was told of a target that was, or is, withheld from it.
type hearsay struct {
	shown  bool // it has heard of it
	hidden bool // and is to hear of it when it can
	attach bool // it was attached, or was to be
}

// note is what s was told of a target. mux.mu is held, or it is the reading goroutine's.
func (s *session) note(target string) *hearsay {
	if s.told == nil {
		s.told = map[string]*hearsay{}
	}
	if s.told[target] == nil {
		s.told[target] = &hearsay{}
	}
	return s.told[target]
}

// withholds reports whether an event of a client's session is not for the client. What it is to hear in its place is handed to it.
func (m *mux) withholds(s *session, method string, params []byte) bool {
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
	case "Target.receivedMessageFromTarget": // of a session that is not flat
		return m.session(p.SessionID) == nil
	case "Target.attachedToTarget":
		if !m.isWithheld(info) {
			return false
		}
		m.mu.Lock()
		s.note(info.TargetID).attach = true
		m.mu.Unlock()
		m.refuseSession(s, p.SessionID, info, p.Waits)
		return true
	case "Target.targetCreated", "Target.targetInfoChanged":
		return m.withholdsInfo(s, method, p.TargetInfo, info)
	case "Target.targetDestroyed", "Target.targetCrashed":
		m.mu.Lock()
		defer m.mu.Unlock()
		hidden := s.told[p.TargetID] != nil && s.told[p.TargetID].hidden
		if method == "Target.targetDestroyed" {
			delete(s.told, p.TargetID)
		}
		return hidden
	}
	return false
}

// withholdsInfo is withholds of what a target is: one that is closed has gone for the client, and one that opens again is new.
func (m *mux) withholdsInfo(s *session, method string, raw json.RawMessage, info TargetInfo) bool {
	withheld := m.isWithheld(info)
	var was hearsay
	m.mu.Lock()
	if t := s.told[info.TargetID]; t != nil {
		was = *t
	}
	if method == "Target.targetCreated" || was.hidden || was.shown {
		t := s.note(info.TargetID)
		t.shown, t.hidden = !withheld, withheld
	}
	m.mu.Unlock()
	switch {
	case withheld && was.shown:
		s.client.event(s, "Target.targetDestroyed", map[string]string{"targetId": info.TargetID})
	case !withheld && was.hidden && method == "Target.targetInfoChanged":
		s.client.event(s, "Target.targetCreated", map[string]json.RawMessage{"targetInfo": m.attachedByClients(raw, info.TargetID)})
		return true
	}
	return withheld
}

// event tells a client what Chrome has not said.
func (c *client) event(s *session, method string, params any) {
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
		c.hand(msg)
	}
}

// refuseSession ends a session that Chrome has just made for a client, and that is in no book of ours. A target that waits for it is let go first, when the
// owner has dressed it: it would not come to its document.
func (m *mux) refuseSession(parent *session, id string, info TargetInfo, waits bool) {
	if !waits {
		m.detach(parent.id, id, nil)
		return
	}
	go func() {
		m.owner.awaitSent(info.TargetID)
		m.send(id, "Runtime.runIfWaitingForDebugger", nil, nil)
		m.detach(parent.id, id, nil)
		m.owner.mayClose(info.TargetID, info.URL)
	}()
}

// refusesTarget reports whether a command names a target that clients are kept off. m.mu is held.
func (m *mux) refusesTarget(method string, params []byte) bool {
	if len(m.shut.at)+len(m.shut.onWay) == 0 || !strings.HasPrefix(method, "Target.") && !strings.HasPrefix(method, "Browser.") {
		return false
	}
	return slices.ContainsFunc(texts(members(params)["targetId"]), m.shut.has)
}

// noSuchTarget is what Chrome says of a target that is not there.
const noSuchTarget = "No target with given id found"

// without returns what takes out of the answer to a command what clients do not hear of, nil where there is nothing of the kind.
func (m *mux) without(method string) func(json.RawMessage) (json.RawMessage, bool) {
	switch method {
	case "Target.getTargets":
		return m.withoutTargets
	case "Target.getTargetInfo":
		return func(result json.RawMessage) (json.RawMessage, bool) {
			var got struct {
				TargetInfo TargetInfo `json:"targetInfo"`
			}
			ok := json.Unmarshal(result, &got) == nil && !m.isWithheld(got.TargetInfo)
			return m.attachedByClients(result, got.TargetInfo.TargetID), ok
		}
	case "Page.getNavigationHistory":
		return m.withoutPlaces
	}
	return nil
}

func (m *mux) withoutTargets(result json.RawMessage) (json.RawMessage, bool) {
	var got struct {
		TargetInfos []json.RawMessage `json:"targetInfos"`
	}
	if json.Unmarshal(result, &got) != nil {
		return nil, false
	}
	shown := []json.RawMessage{}
	for _, raw := range got.TargetInfos {
		var info TargetInfo
		if json.Unmarshal(raw, &info) == nil && !m.isWithheld(info) {
			shown = append(shown, m.attachedByClients(raw, info.TargetID))
		}
	}
	got.TargetInfos = shown
	out, err := json.Marshal(got)
	return out, err == nil
}

// withoutPlaces leaves of the places that a page has been to, where they are closed, their ids alone.
func (m *mux) withoutPlaces(result json.RawMessage) (json.RawMessage, bool) {
	var got struct {
		Current json.RawMessage              `json:"currentIndex"`
		Entries []map[string]json.RawMessage `json:"entries"`
	}
	if json.Unmarshal(result, &got) != nil {
		return nil, false
	}
	for _, entry := range got.Entries {
		var address string
		if json.Unmarshal(entry["url"], &address) != nil || m.shut.installed.isClosed(address) {
			nowhere := json.RawMessage(`"` + BlankPage + `"`)
			entry["title"], entry["url"], entry["userTypedURL"] = json.RawMessage(`""`), nowhere, nowhere
		}
	}
	out, err := json.Marshal(got)
	return out, err == nil
}

// answer is Chrome's answer as the client gets it: as Chrome gave it, or without what is withheld.
func (p pending) answer(msg []byte, e envelope) []byte {
	if p.without == nil {
		return p.client.rewritten(msg, e, p.raw)
	}
	a := parseAnswer(msg)
	if a.err() != nil {
		return p.client.rewritten(msg, e, p.raw)
	}
	body, ok := p.without(a.Result)
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
	return p.client.rewritten(out, again, p.raw)
}

// isWithheld reports whether clients do not hear of a target: one that is closed to them, and a service worker without a browser context. Chrome keeps one
// whose context has gone; Playwright takes no target without a context.
func (m *mux) isWithheld(t TargetInfo) bool {
	return m.isShut(t.TargetID) || m.shut.installed.isClosed(t.URL) || t.Type == "service_worker" && t.Context == ""
}
