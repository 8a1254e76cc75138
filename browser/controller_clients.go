package browser

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// onClientAttached is called on the reading goroutine for each target that a client has attached to. The empty user agent of a new session
// would replace the controller's at the next document (third_party/blink/renderer/core/inspector/inspector_emulation_agent.cc, Restore). So
// document requests wait until the session has the identity's user agent. They do not wait for a paused target, which may have no renderer
// that could answer.
func (ctl *controller) onClientAttached(s *session, waits bool) {
	acknowledged := ctl.overrideSession(s)
	if !waits && hasNavigator(s.kind) {
		ctl.attaching.until(acknowledged)
	}
	ctl.mu.Lock()
	a := ctl.navigations[s.target]
	ctl.mu.Unlock()
	if a == nil || s.kind != "page" {
		return
	}
	a.once.Do(func() {
		ctl.mux.mu.Lock()
		s.isHeld = true
		ctl.mux.mu.Unlock()
		a.session = s
		a.overridden <- acknowledged
	})
}

// onClientDetached is called when a client's session has ended. Chrome then resets the user agent of the whole target, so the controller
// sends its own again.
func (ctl *controller) onClientDetached(s *session) {
	if s.kind == "page" {
		go ctl.mux.takeBackPasskeys(s.target)
	}
	for _, mine := range ctl.mux.controllerSessions(s.target) {
		ctl.attaching.until(ctl.overrideSession(mine))
	}
}

// takeBackPasskeys gives a page its authenticator again. The end of any session on a page ends the authenticators of all
// (content/browser/devtools/protocol/webauthn_handler.cc, Disable). A client that still has its own keeps the page.
func (m *mux) takeBackPasskeys(target string) {
	its := m.sessionsWith(func(s *session) bool { return s.target == target && s.ownPasskeys })
	if len(its) == 0 {
		m.passkeys.takeBack(target)
	}
}

// overrideSession sends a session the overrides that every session needs.
func (ctl *controller) overrideSession(s *session) <-chan struct{} {
	ctl.emulation.mu.Lock()
	defer ctl.emulation.mu.Unlock()
	return ctl.sendOverrides(s, ctl.emulation.sessionOverrides(s.kind))
}

// attachCounter counts clients' sessions that are being attached. Document requests wait meanwhile: a document that arrives while a session
// has no user agent yet shows the host's navigator.platform.
type attachCounter struct {
	mu    sync.Mutex
	limit time.Duration // attachLimit; tests set another
	n     int
	zero  chan struct{} // closed when n is 0 again
}

// attachLimit is how long a session counts. A renderer that hangs, or whose page is navigating, answers later. A document request that
// waits for its own page waits less.
const attachLimit = time.Second

// begin counts one more, until end is called or the limit is reached.
func (a *attachCounter) begin() (end func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n++; a.n == 1 {
		a.zero = make(chan struct{})
	}
	end = sync.OnceFunc(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.n--; a.n == 0 {
			close(a.zero)
		}
	})
	time.AfterFunc(a.limit, end)
	return end
}

// until counts one more, until the channel is closed.
func (a *attachCounter) until(acknowledged <-chan struct{}) {
	end := a.begin()
	go func() {
		<-acknowledged // closed by the end of the session or of the browser too
		end()
	}()
}

// pending returns a channel that is closed when the count is 0; nil if it is 0 now.
func (a *attachCounter) pending() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n == 0 {
		return nil
	}
	return a.zero
}

// newTab is a tab that was created blank for a client and waits for its first navigation. The navigation waits for a client that is
// attaching: a page that loads during an attachment shows the host's navigator.platform.
type newTab struct {
	overridden chan (<-chan struct{}) // gets a channel that is closed when the client's session has its overrides
	once       sync.Once
	session    *session // the client's, held until the navigation has begun
}

// attachWait is how long a new tab waits for its client to attach. Clients that attach do so at once.
const attachWait = 100 * time.Millisecond

// navigateNewTab navigates a tab once it has its overrides. tell answers the request for the tab. c is the client that made it, nil if it
// is not known yet.
func (ctl *controller) navigateNewTab(target, address string, c *client, tell func()) {
	ctl.awaitOverrides(context.Background(), target)
	a := &newTab{overridden: make(chan (<-chan struct{}), 1)}
	if c != nil && ctl.mux.isAttached(c, target) { // by auto-attach, already
		tell()
	} else {
		ctl.mu.Lock()
		ctl.navigations[target] = a
		ctl.mu.Unlock()
		tell()
		ctl.awaitClient(a)
		ctl.mu.Lock()
		delete(ctl.navigations, target)
		ctl.mu.Unlock()
	}
	if p, ok := ctl.page(target); ok {
		ctl.mux.send(p.Session, "Page.navigate", map[string]string{"url": address}, nil)
	}
	a.once.Do(func() {})
	ctl.mux.mu.Lock()
	defer ctl.mux.mu.Unlock()
	if a.session != nil {
		ctl.mux.unhold(a.session)
	}
}

// awaitClient returns when the client's session has its overrides, or when no client attaches. A client that is attaching gets more time:
// during the navigation Chrome would answer its session only with the new document.
func (ctl *controller) awaitClient(a *newTab) {
	var acknowledged <-chan struct{}
	select {
	case acknowledged = <-a.overridden:
	case <-time.After(ctl.attachWait):
		if acknowledged = ctl.attaching.pending(); acknowledged == nil {
			return
		}
	}
	select {
	case <-acknowledged:
	case <-time.After(attachTimeout):
	}
}

// reapplyState allows one run of reapplyShared at a time, and records that another one is needed.
type reapplyState struct{ busy, again bool }

// onDocument is called when a frame shows a new document. The frame may have moved to a renderer process without the overrides, or taken
// them away from the process that it has left.
func (ctl *controller) onDocument(frame string) {
	if ctl.emulation.mayLoseOverrides() && len(ctl.mux.controllerSessions(frame)) > 0 {
		ctl.reapplyShared()
	}
}

// reapplyShared sends every target the overrides that apply to whole renderer processes. They end for all targets of a process when the
// target that has set them goes. Processes that have them answer with an error.
func (ctl *controller) reapplyShared() {
	ctl.mu.Lock()
	ctl.reapplying.again = true
	busy := ctl.reapplying.busy
	ctl.reapplying.busy = true
	ctl.mu.Unlock()
	if busy {
		return
	}
	go func() {
		for ctl.nextReapply() {
			overrides := ctl.emulation.processOverrides()
			var all []<-chan struct{}
			for _, s := range ctl.mux.controllerSessions("") {
				if hasNavigator(s.kind) {
					all = append(all, ctl.sendOverrides(s, overrides))
				}
			}
			waiting, cancel := context.WithTimeout(context.Background(), attachTimeout) // a renderer may hang
			for _, acknowledged := range all {
				_, _ = receive(waiting, acknowledged)
			}
			cancel()
		}
	}()
}

// nextReapply reports whether another run is needed.
func (ctl *controller) nextReapply() bool {
	ctl.mu.Lock()
	defer ctl.mu.Unlock()
	due := ctl.reapplying.again
	ctl.reapplying.again, ctl.reapplying.busy = false, due
	return due
}

// followUserAgent gives the controller's session the user agent that a client sets for the target. Chrome requests a page's downloads with
// the user agent of the session that attached first (content/browser/devtools/devtools_instrumentation.cc,
// ApplyNetworkOverridesForDownload). onClientDetached undoes it.
func (ctl *controller) followUserAgent(s *session, params []byte) {
	var p struct {
		UserAgent      string `json:"userAgent"`
		AcceptLanguage string `json:"acceptLanguage"`
	}
	if json.Unmarshal(params, &p) != nil || !hasNavigator(s.kind) {
		return
	}
	for _, mine := range ctl.mux.controllerSessions(s.target) {
		if p.UserAgent == "" {
			ctl.overrideSession(mine)
		} else {
			ctl.sendOverrides(mine, ctl.emulation.userAgentOverrideAs(p.UserAgent, p.AcceptLanguage))
		}
	}
}
