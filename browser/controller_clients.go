package browser

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// This file keeps targets what they are while clients come and go: each session of DevTools has overrides of its own, and some of them hold for more
// than its target.

// onClientAttached is called on the reading goroutine for each target that a client has attached to. A session's empty user agent would win over the owner's at
// the next document (third_party/blink/renderer/core/inspector/inspector_emulation_agent.cc, Restore): no page gets one before this one is there, but
// where the target waits, and may have no renderer that could say so.
func (o *controller) onClientAttached(s *session, waits bool) {
	acknowledged := o.overrideSession(s)
	if !waits && hasNavigator(s.kind) {
		o.attaching.until(acknowledged)
	}
	o.mu.Lock()
	a := o.navigations[s.target]
	o.mu.Unlock()
	if a == nil || s.kind != "page" {
		return
	}
	a.once.Do(func() {
		o.mux.mu.Lock()
		s.isHeld = true
		o.mux.mu.Unlock()
		a.session = s
		a.overridden <- acknowledged
	})
}

// onClientDetached is called when a client's session has ended: what it had set of the user agent is taken back, and the owner's with it.
func (o *controller) onClientDetached(s *session) {
	for _, mine := range o.mux.controllerSessions(s.target) {
		o.attaching.until(o.overrideSession(mine))
	}
}

// overrideSession gives a session what clients' get.
func (o *controller) overrideSession(s *session) <-chan struct{} {
	o.emulation.mu.Lock()
	defer o.emulation.mu.Unlock()
	return o.sendOverrides(s, o.emulation.sessionOverrides(s.kind))
}

// attachCounter counts what happens with clients' sessions and is not over. Documents are not asked for meanwhile: one that comes while a session has no user
// agent yet shows the host's navigator.platform.
type attachCounter struct {
	mu    sync.Mutex
	limit time.Duration // joinTime; tests set another
	n     int
	zero  chan struct{} // closed when n is 0 again
}

// attachLimit is how long a session counts. A renderer that hangs answers later, and so does one whose page is on its way elsewhere: then a document that
// waits would wait for itself, so it waits less.
const attachLimit = time.Second

// begin counts one more, until end is called or joinTime is over.
func (j *attachCounter) begin() (end func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.n++; j.n == 1 {
		j.zero = make(chan struct{})
	}
	end = sync.OnceFunc(func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.n--; j.n == 0 {
			close(j.zero)
		}
	})
	time.AfterFunc(j.limit, end)
	return end
}

// until counts one more until what is closed.
func (j *attachCounter) until(acknowledged <-chan struct{}) {
	end := j.begin()
	go func() {
		<-acknowledged // the end of the session or of the browser is an answer too
		end()
	}()
}

// pending is closed when nothing is counted; nil: nothing is.
func (j *attachCounter) pending() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.n == 0 {
		return nil
	}
	return j.zero
}

// newTab is a page that was born blank for a client and is about to be sent to its address. A client that attaches now is waited for: a page that
// loads while somebody attaches shows the host's navigator.platform.
type newTab struct {
	overridden chan (<-chan struct{}) // gets what is closed when the client's session is dressed
	once       sync.Once
	session    *session // the client's, held until the page is on its way
}

// attachWait is how long a new page waits for the client that made it to attach to it. Clients that attach do so at once.
const attachWait = 100 * time.Millisecond

// navigateNewTab navigates a page as soon as it is dressed. told tells who asked for it, the client c where that is known already.
func (o *controller) navigateNewTab(target, address string, c *client, told func()) {
	o.awaitOverrides(context.Background(), target)
	a := &newTab{overridden: make(chan (<-chan struct{}), 1)}
	if c != nil && o.mux.isAttached(c, target) { // it attaches to everything, and has
		told()
	} else {
		o.mu.Lock()
		o.navigations[target] = a
		o.mu.Unlock()
		told()
		o.awaitClient(a)
		o.mu.Lock()
		delete(o.navigations, target)
		o.mu.Unlock()
	}
	if p, ok := o.page(target); ok {
		o.mux.send(p.Session, "Page.navigate", map[string]string{"url": address}, nil)
	}
	a.once.Do(func() {})
	o.mux.mu.Lock()
	defer o.mux.mu.Unlock()
	if a.session != nil {
		o.mux.unhold(a.session)
	}
}

// awaitClient returns when the client has attached and its session is dressed, or does not attach. One that is about to is waited for longer: once the page
// is on its way, Chrome gives the client's session nothing before the document is there.
func (o *controller) awaitClient(a *newTab) {
	timer := time.NewTimer(o.attachWait)
	defer timer.Stop()
	var acknowledged <-chan struct{}
	select {
	case acknowledged = <-a.overridden:
	case <-timer.C:
		if acknowledged = o.attaching.pending(); acknowledged == nil {
			return
		}
	}
	timer.Reset(attachTimeout)
	select {
	case <-acknowledged:
	case <-timer.C:
	}
}

// reapplyState makes one round of renewing at a time, and one more when a target went meanwhile.
type reapplyState struct{ busy, again bool }

// onDocument is called when a document is there. The target may have come to another process, without an override that another target had claimed before, or
// have left one that had it from this target.
func (o *controller) onDocument(frame string) {
	if o.emulation.mayLoseOverrides() && len(o.mux.controllerSessions(frame)) > 0 {
		o.reapplyShared()
	}
}

// reapplyShared gives every target once more what holds for whole renderer processes: with the target that had set them the overrides go for all others of its
// process. Those whose process has them answer so.
func (o *controller) reapplyShared() {
	o.mu.Lock()
	o.reapplying.again = true
	busy := o.reapplying.busy
	o.reapplying.busy = true
	o.mu.Unlock()
	if busy {
		return
	}
	go func() {
		for o.nextReapply() {
			orders := o.emulation.processOverrides()
			var all []<-chan struct{}
			for _, s := range o.mux.controllerSessions("") {
				if hasNavigator(s.kind) {
					all = append(all, o.sendOverrides(s, orders))
				}
			}
			timer := time.NewTimer(attachTimeout) // for a renderer that hangs
			for _, acknowledged := range all {
				select {
				case <-acknowledged:
				case <-timer.C:
					timer.Reset(0)
				}
			}
			timer.Stop()
		}
	}()
}

// nextReapply says whether a round is due.
func (o *controller) nextReapply() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	due := o.reapplying.again
	o.reapplying.again, o.reapplying.busy = false, due
	return due
}

// followUserAgent gives the owner's session the user agent that a client declares for its target: what a page downloads is asked for as the session says that
// attached first (content/browser/devtools/devtools_instrumentation.cc, ApplyNetworkOverridesForDownload). When the client's session ends, left takes it back.
func (o *controller) followUserAgent(s *session, params []byte) {
	var p struct {
		UserAgent      string `json:"userAgent"`
		AcceptLanguage string `json:"acceptLanguage"`
	}
	if json.Unmarshal(params, &p) != nil || !hasNavigator(s.kind) {
		return
	}
	for _, mine := range o.mux.controllerSessions(s.target) {
		if p.UserAgent == "" {
			o.overrideSession(mine)
		} else {
			o.sendOverrides(mine, o.emulation.userAgentOverrideAs(p.UserAgent, p.AcceptLanguage))
		}
	}
}
