package browser

import (
	"encoding/json"
	"slices"
)

// settingsTab is the settings page that is open, or was last. It is recognised by its address before Chrome has answered with its id.
// mux.mu guards it.
type settingsTab struct {
	url, target string
	announced   bool // Chrome has announced it to clients before its address was known
}

// detachFromSettings records the id of the settings page and ends the clients' sessions on it. It runs on the reading goroutine.
func (m *mux) detachFromSettings(target string) (detached []<-chan struct{}) {
	m.mu.Lock()
	m.settings.announced = m.settings.target == ""
	m.settings.target = target
	m.mu.Unlock()
	for _, s := range m.sessionsWith(func(s *session) bool { return s.client != nil && s.target == target }) {
		done := make(chan struct{})
		detached = append(detached, done)
		m.detach(s.parent, s.id, func(answer) { close(done) })
	}
	return detached
}

// hasSettingsPage reports whether the settings page is open or is being opened.
func (m *mux) hasSettingsPage() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.settings.url != ""
}

// isSettingsPage reports whether a target is the settings page.
func (m *mux) isSettingsPage(target string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.settings.target == target
}

// concernsSettings reports whether an event is about the settings page and must be kept from clients and subscriptions. A client that
// Chrome has attached to the page is detached. Its session is never registered, so no command of the client gets there.
func (m *mux) concernsSettings(s *session, method string, params []byte) bool {
	m.mu.Lock()
	private := m.settings
	m.mu.Unlock()
	if private == (settingsTab{}) ||
		!slices.Contains([]string{"Target.targetCreated", "Target.targetInfoChanged", "Target.targetDestroyed", "Target.targetCrashed",
			"Target.attachedToTarget", "Target.detachedFromTarget"}, method) {
		return false
	}
	var p reference
	if json.Unmarshal(params, &p) != nil {
		return false
	}
	if info := p.TargetInfo; private.url != "" && info.Type == "page" && info.URL == private.url {
		private.target = info.TargetID
		m.mu.Lock()
		m.settings.target = info.TargetID
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
	return !private.announced
}

// detach ends a session below parent.
func (m *mux) detach(parent, id string, done func(answer)) {
	m.send(parent, "Target.detachFromTarget", map[string]string{"sessionId": id}, done)
}
