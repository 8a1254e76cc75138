package browser

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
)

// receive handles one message of Chrome: an answer or an event.
func (m *mux) receive(msg []byte) {
	e, err := scan(msg, math.MaxInt)
	if err != nil {
		m.log.Warn("unreadable message from the browser", "error", err, "bytes", len(msg))
		return
	}
	if e.id.there() {
		m.onAnswer(msg, e)
		return
	}
	m.dispatch(msg, e)
}

// onAnswer passes an answer to the sender of the command.
func (m *mux) onAnswer(msg []byte, e envelope) {
	id, _ := integer(msg, e.id)
	m.mu.Lock()
	p, known := m.pending[id]
	delete(m.pending, id)
	m.mu.Unlock()
	switch {
	case !known:
	case p.then != nil:
		p.then(parseAnswer(msg))
	case p.before != nil:
		a := parseAnswer(msg) // before msg is changed
		theirs := p.client.rewrite(bytes.Clone(msg), e, p.clientID)
		p.before(a, func() { p.client.deliver(theirs) })
	default:
		p.client.send(p.clientAnswer(msg, e))
	}
}

// dispatch routes an event to the client of its session, or to the controller.
func (m *mux) dispatch(msg []byte, e envelope) {
	var s *session // nil for the root session
	if id := text(msg, e.session); id != "" {
		if s = m.session(id); s == nil {
			return // the session has just ended
		}
	}
	method := text(msg, e.method)
	if method == "" {
		m.log.Warn("the browser did not understand a command", "answer", string(msg[:min(len(msg), 300)]))
	}
	if s != nil && s.client != nil {
		m.dispatchToClient(s, method, msg, e)
	} else {
		m.dispatchToController(s, method, e.params.in(msg))
	}
}

// dispatchToClient forwards an event on a client's session, unless the client must not see it.
func (m *mux) dispatchToClient(s *session, method string, msg []byte, e envelope) {
	params := e.params.in(msg)
	if m.concernsSettings(s, method, params) || m.hidesEvent(s, method, params) {
		return
	}
	switch method {
	case "Target.attachedToTarget": // before the client can send anything to the new session
		m.onAttached(s, params)
	case "Target.detachedFromTarget":
		defer m.onDetached(s, params) // after the client has got the event
	}
	if !s.client.hidesBrowserTarget(method, params) {
		msg, e = m.rewriteTargetInfo(method, msg, e)
		s.client.send(s.client.rewrite(msg, e, nil))
	}
}

// dispatchToController handles an event on one of the controller's sessions, s, or on the root session (nil).
func (m *mux) dispatchToController(s *session, method string, params []byte) {
	if s == nil && (method == "Browser.downloadWillBegin" || method == "Browser.downloadProgress") {
		m.downloads.onEvent(method, params)
	}
	m.trackNavigation(method, params)
	news := Event{Method: method, Params: params}
	if s != nil {
		news.Session, news.Target = s.id, s.target
	}
	claimed := !m.concernsSettings(s, method, params) && m.publishEvent(news)
	switch {
	case method == "Target.attachedToTarget":
		m.onAttached(s, params)
	case method == "Target.detachedFromTarget":
		m.onDetached(s, params)
	case method == "Target.targetCrashed":
		m.onTargetCrashed(params)
	case method == "Fetch.requestPaused":
		m.onRequestPaused(s, params)
	case s != nil:
		m.onPageEvent(s, method, params, claimed)
	}
}

// onTargetCrashed handles Target.targetCrashed (CDP): the renderer of a target has gone.
func (m *mux) onTargetCrashed(params []byte) {
	var p reference
	if json.Unmarshal(params, &p) != nil {
		return
	}
	if _, ok := m.controller.page(p.TargetID); ok {
		m.crashed.set(p.TargetID)
	}
}

// onPageEvent handles an event of a page's own domains.
func (m *mux) onPageEvent(s *session, method string, params []byte, claimed bool) {
	switch {
	case strings.HasPrefix(method, "WebAuthn."):
		m.passkeys.onEvent(s.target, method, params)
	case method == "Network.loadingFailed":
		m.controller.onLoadingFailed(s, params)
	case method == dialogOpening && !claimed:
		m.controller.onDialog(s, params)
	}
}

// onAttached handles Target.attachedToTarget (CDP). The new session belongs to the owner of its parent, which is nil for the root session.
func (m *mux) onAttached(parent *session, params []byte) {
	var p reference
	if err := json.Unmarshal(params, &p); err != nil || p.SessionID == "" {
		return
	}
	s := &session{id: p.SessionID, target: p.TargetInfo.TargetID, kind: p.TargetInfo.Type, context: p.TargetInfo.Context}
	if parent != nil {
		s.parent, s.client = parent.id, parent.client
	}
	m.mu.Lock()
	m.sessions[s.id] = s
	if s.client != nil {
		s.holds = holdsTarget(parent, p.Waits)
		m.signalHolds()
	}
	m.mu.Unlock()
	switch {
	case s.kind == "browser": // registerClient gives it to its client
	case s.client == nil:
		m.controller.onAttached(s, p.TargetInfo)
	default: // before the client learns of the session and sends anything to it
		m.controller.onClientAttached(s, p.Waits)
	}
}

// onDetached handles Target.detachedFromTarget (CDP): it removes the session and all sessions below it.
func (m *mux) onDetached(parent *session, params []byte) {
	var p reference
	if err := json.Unmarshal(params, &p); err != nil {
		return
	}
	m.mu.Lock()
	s := m.sessions[p.SessionID]
	if s == nil || (parent == nil) != (s.parent == "") || parent != nil && parent.client != s.client {
		m.mu.Unlock()
		return
	}
	gone, calls := m.removeSession(s)
	m.mu.Unlock()
	for _, s := range gone {
		if s.client == nil {
			m.controller.onDetached(s)
		} else {
			m.controller.onClientDetached(s)
			m.downloads.onSessionEnded(s)
			s.client.sessionEnded(s)
		}
	}
	failCalls(calls, errSessionGone)
}
