package browser

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// This file keeps targets what they are while clients come and go: each session of DevTools has overrides of its own, and some of them hold for more
// than its target.

// joined is called on the reading goroutine for each target that a client has attached to. A session's empty user agent would win over the owner's at
// the next document (third_party/blink/renderer/core/inspector/inspector_emulation_agent.cc, Restore): no page gets one before this one is there, but
// where the target waits, and may have no renderer that could say so.
func (o *owner) joined(s *session, waits bool) {
	acknowledged := o.dressClient(s)
	if !waits && hasNavigator(s.kind) {
		o.joins.until(acknowledged)
	}
	o.mu.Lock()
	a := o.arriving[s.target]
	o.mu.Unlock()
	if a == nil || s.kind != "page" {
		return
	}
	a.once.Do(func() {
		o.mux.mu.Lock()
		s.isHeld = true
		o.mux.mu.Unlock()
		a.session = s
		a.dressed <- acknowledged
	})
}

// left is called when a client's session has ended: what it had set of the user agent is taken back, and the owner's with it.
func (o *owner) left(s *session) {
	for _, mine := range o.mux.owned(s.target) {
		o.joins.until(o.dressClient(mine))
	}
}

// dressClient gives a session what clients' get.
func (o *owner) dressClient(s *session) <-chan struct{} {
	o.emulation.mu.Lock()
	defer o.emulation.mu.Unlock()
	return o.give(s, o.emulation.clientOrders(s.kind))
}

// joins counts what happens with clients' sessions and is not over. Documents are not asked for meanwhile: one that comes while a session has no user
// agent yet shows the host's navigator.platform.
type joins struct {
	mu    sync.Mutex
	limit time.Duration // joinTime; tests set another
	n     int
	none  chan struct{} // closed when n is 0 again
}

// joinTime is how long a session counts. A renderer that hangs answers later, and so does one whose page is on its way elsewhere: then a document that
// waits would wait for itself, so it waits less.
const joinTime = time.Second

// begin counts one more, until end is called or joinTime is over.
func (j *joins) begin() (end func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.n++; j.n == 1 {
		j.none = make(chan struct{})
	}
	end = sync.OnceFunc(func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.n--; j.n == 0 {
			close(j.none)
		}
	})
	time.AfterFunc(j.limit, end)
	return end
}

// until counts one more until what is closed.
func (j *joins) until(acknowledged <-chan struct{}) {
	end := j.begin()
	go func() {
		<-acknowledged // the end of the session or of the browser is an answer too
		end()
	}()
}

// over is closed when nothing is counted; nil: nothing is.
func (j *joins) over() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.n == 0 {
		return nil
	}
	return j.none
}

// arrival is a page that was born blank for a client and is about to be sent to its address. A client that attaches now is waited for: a page that
// loads while somebody attaches shows the host's navigator.platform.
type arrival struct {
	dressed chan (<-chan struct{}) // gets what is closed when the client's session is dressed
	once    sync.Once
	session *session // the client's, held until the page is on its way
}

// arrivalTime is how long a new page waits for the client that made it to attach to it. Clients that attach do so at once.
const arrivalTime = 100 * time.Millisecond

// sendTo navigates a page as soon as it is dressed. told tells who asked for it, the client c where that is known already.
func (o *owner) sendTo(target, address string, c *client, told func()) {
	o.awaitDressed(context.Background(), target)
	a := &arrival{dressed: make(chan (<-chan struct{}), 1)}
	if c != nil && o.mux.attachedTo(c, target) { // it attaches to everything, and has
		told()
	} else {
		o.mu.Lock()
		o.arriving[target] = a
		o.mu.Unlock()
		told()
		o.await(a)
		o.mu.Lock()
		delete(o.arriving, target)
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

// await returns when the client has attached and its session is dressed, or does not attach. One that is about to is waited for longer: once the page
// is on its way, Chrome gives the client's session nothing before the document is there.
func (o *owner) await(a *arrival) {
	timer := time.NewTimer(o.arrivalTime)
	defer timer.Stop()
	var acknowledged <-chan struct{}
	select {
	case acknowledged = <-a.dressed:
	case <-timer.C:
		if acknowledged = o.joins.over(); acknowledged == nil {
			return
		}
	}
	timer.Reset(patience)
	select {
	case <-acknowledged:
	case <-timer.C:
	}
}

// renewal makes one round of renewing at a time, and one more when a target went meanwhile.
type renewal struct{ busy, again bool }

// arrived is called when a document is there. The target may have come to another process, without an override that another target had claimed before, or
// have left one that had it from this target.
func (o *owner) arrived(frame string) {
	if o.emulation.isLost() && len(o.mux.owned(frame)) > 0 {
		o.renew()
	}
}

// renew gives every target once more what holds for whole renderer processes: with the target that had set them the overrides go for all others of its
// process. Those whose process has them answer so.
func (o *owner) renew() {
	o.mu.Lock()
	o.renewing.again = true
	busy := o.renewing.busy
	o.renewing.busy = true
	o.mu.Unlock()
	if busy {
		return
	}
	go func() {
		for o.renewAgain() {
			orders := o.emulation.sharedOrders()
			var all []<-chan struct{}
			for _, s := range o.mux.owned("") {
				if hasNavigator(s.kind) {
					all = append(all, o.give(s, orders))
				}
			}
			timer := time.NewTimer(patience) // for a renderer that hangs
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

// renewAgain says whether a round is due.
func (o *owner) renewAgain() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	due := o.renewing.again
	o.renewing.again, o.renewing.busy = false, due
	return due
}

// follow gives the owner's session the user agent that a client declares for its target: what a page downloads is asked for as the session says that
// attached first (content/browser/devtools/devtools_instrumentation.cc, ApplyNetworkOverridesForDownload). When the client's session ends, left takes it back.
func (o *owner) follow(s *session, params []byte) {
	var p struct {
		UserAgent      string `json:"userAgent"`
		AcceptLanguage string `json:"acceptLanguage"`
	}
	if json.Unmarshal(params, &p) != nil || !hasNavigator(s.kind) {
		return
	}
	for _, mine := range o.mux.owned(s.target) {
		if p.UserAgent == "" {
			o.dressClient(mine)
		} else {
			o.give(mine, o.emulation.agentAs(p.UserAgent, p.AcceptLanguage))
		}
	}
}
