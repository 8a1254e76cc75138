package browser

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// selectLanguages changes the languages of the running browser. They apply at once to all pages, workers and later requests.
func (b *Browser) selectLanguages(ctx context.Context, languages []string) error {
	ctx, end := b.untilStop(ctx)
	defer end()
	ctx, cancel := context.WithTimeout(ctx, settingsTimeout)
	defer cancel()
	session, leave, err := b.openSettingsURL(ctx)
	defer leave()
	if err != nil {
		return err
	}
	was, err := b.setting(ctx, session, fmt.Sprintf(`(await chrome.settingsPrivate.getPref(%q)).value`, selectedLanguages))
	if err == nil { // before the change, so that a crash in between loses nothing
		err = saveOwnLanguages(b.spec.UserDataDir, was)
	}
	if err != nil {
		return fmt.Errorf("keep the browser's own languages: %w", err)
	}
	list := strings.Join(languages, ",")
	is, err := b.setting(ctx, session,
		fmt.Sprintf(`await chrome.settingsPrivate.setPref(%[1]q, %[2]q), (await chrome.settingsPrivate.getPref(%[1]q)).value`,
			selectedLanguages, list))
	if err == nil && is != list {
		err = fmt.Errorf("they are %q", is)
	}
	return err
}

// errSettingsOpen is the error for a settings page while another is open.
var errSettingsOpen = errors.New("the last page is still on its way")

// openSettingsURL opens the settings page, with the settings in it. leave must be called, also after an error.
func (b *Browser) openSettingsURL(ctx context.Context) (session string, leave func(), err error) {
	session, leave, err = b.openSettings(ctx)
	if err != nil {
		return "", leave, err
	}
	var arrived struct {
		ErrorText string `json:"errorText"`
	}
	err = b.mux.call(ctx, session, "Page.navigate", map[string]string{"url": settingsURL}, &arrived)
	if err == nil && arrived.ErrorText != "" {
		err = errors.New(arrived.ErrorText)
	}
	if err != nil {
		err = fmt.Errorf("open the browser's settings: %w", err)
	}
	return session, leave, err
}

// setting evaluates an expression on the settings page. Its result is a string.
func (b *Browser) setting(ctx context.Context, session, expression string) (string, error) {
	return evaluateText(ctx, b.mux, session, "(async () => ("+expression+"))()")
}

// evaluateText evaluates an expression whose result is a string, or a promise of one.
func evaluateText(ctx context.Context, m *mux, session, expression string) (string, error) {
	var r struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	params := map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}
	if err := m.call(ctx, session, "Runtime.evaluate", params, &r); err != nil {
		return "", err
	}
	if r.Exception != nil {
		text, _, _ := strings.Cut(r.Exception.Exception.Description, "\n")
		return "", errors.New(text)
	}
	var text string
	err := json.Unmarshal(r.Result.Value, &text)
	return text, err
}

// settingsTimeout bounds the change of a preference. It takes a tenth of a second, and on a busy machine many times as long. It is not
// tried again before the profile's next change.
const settingsTimeout = 9 * time.Second

// settingsOpened is the answer to the request for the settings page.
type settingsOpened struct {
	target   string
	detached []<-chan struct{} // closed when clients' sessions on the page have ended
	err      error
}

// openSettings opens a blank page in the background that clients cannot see or attach to, and returns the controller's session on it. leave
// closes the page and returns when it has gone; Stop waits for that.
func (b *Browser) openSettings(ctx context.Context) (session string, leave func(), err error) {
	if !b.settings.TryLock() {
		return "", func() {}, errSettingsOpen
	}
	if isClosed(b.stopc) {
		b.settings.Unlock()
		return "", func() {}, errors.New("the browser is being stopped")
	}
	address := BlankPage + "#" + rand.Text()
	answered := b.mux.createSettings(address)
	var made settingsOpened
	closed := func() { b.closeSettings(address, made.target) }
	select {
	case made = <-answered:
	case <-ctx.Done():
		go func() { // the page may still open; at the latest the end of the pipe answers
			made = <-answered
			closed()
		}()
		return "", func() {}, ctx.Err()
	}
	if made.err != nil {
		return "", closed, made.err
	}
	session, err = b.awaitSettings(ctx, made)
	return session, closed, err
}

// createSettings asks Chrome for a background page at a blank address that identifies it.
func (m *mux) createSettings(address string) <-chan settingsOpened {
	answered := make(chan settingsOpened, 1)
	m.mu.Lock()
	m.settings = settingsTab{url: address}
	m.mu.Unlock()
	m.send("", "Target.createTarget", map[string]any{"url": address, "background": true}, func(a answer) {
		page, err := a.reference()
		if err != nil {
			answered <- settingsOpened{err: fmt.Errorf("open a page: %w", err)}
			return
		}
		answered <- settingsOpened{target: page.TargetID, detached: m.detachFromSettings(page.TargetID)}
	})
	return answered
}

// awaitSettings returns the controller's session on the settings page, once the page has its overrides and clients are detached from it.
func (b *Browser) awaitSettings(ctx context.Context, made settingsOpened) (session string, err error) {
	b.mux.controller.awaitOverrides(ctx, made.target)
	for _, detached := range made.detached {
		if _, err := receive(ctx, detached); err != nil {
			return "", err
		}
	}
	for _, s := range b.mux.controllerSessions(made.target) {
		return s.id, nil
	}
	return "", errSessionGone
}

// closeSettings closes the settings page, "" if it did not open, and lets the next one open.
func (b *Browser) closeSettings(address, target string) {
	defer b.settings.Unlock()
	if target != "" {
		b.closeAndWait(target)
	}
	b.mux.mu.Lock()
	defer b.mux.mu.Unlock()
	if b.mux.settings.url == address {
		b.mux.settings.url = "" // the id stays, since the page's last event may follow
	}
}

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
