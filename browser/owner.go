package browser

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// owner is the root session's user: it is attached to every target before the target's first line runs, gives it what
// the profile declares, and lets it run. What it cannot dress does not run.
type owner struct {
	mux       *mux
	emulation *emulation

	// dress returns the commands that make a target what the profile says. A target that has none after patience is closed.
	dress   func(TargetInfo) []order
	dresses atomic.Bool // dress has something to say

	closing   atomic.Bool // pages at closed addresses are closed as they come
	dropped   atomic.Bool // a client has dragged files to a page
	closeOnce sync.Mutex  // held while such pages are closed

	mu          sync.Mutex
	targets     map[string]*dressing
	arriving    map[string]*arrival // pages that are about to be sent to their address
	contexts    map[string]bool     // browser contexts that have their permissions
	renewing    renewal
	arrivalTime time.Duration // tests set another
	early       early
	joins       joins
	pages       []Page        // pages in the order in which they were attached
	first       chan struct{} // closed with the first page
	once        sync.Once     // for first
}

// dressing is the state of a target: done when the owner's commands have been acknowledged.
type dressing struct {
	sent chan struct{} // closed when the owner's commands are on their way: what comes behind them finds the target dressed
	done chan struct{}
	gone chan struct{} // closed when the owner's session on it has ended
	send sync.Once
	once sync.Once
	seen bool // the owner is attached; guarded by owner.mu
}

func (d *dressing) finish() { d.once.Do(func() { close(d.done) }) }

func (d *dressing) isDone() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

func newOwner(m *mux) *owner {
	return &owner{mux: m, emulation: &emulation{}, targets: map[string]*dressing{}, arriving: map[string]*arrival{}, contexts: map[string]bool{"": true}, first: make(chan struct{}),
		arrivalTime: arrivalTime, joins: joins{limit: joinTime}, early: early{asked: map[string]bool{}, stopped: map[string]bool{}, doubted: map[string]time.Time{}, again: map[string]time.Time{}}}
}

// autoAttach is the parameters of Target.setAutoAttach that leave out the given kinds of target.
func autoAttach(without ...string) any {
	type rule struct {
		Type    string `json:"type,omitempty"`
		Exclude bool   `json:"exclude,omitempty"`
	}
	rules := make([]rule, 0, len(without)+1)
	for _, kind := range without {
		rules = append(rules, rule{kind, true})
	}
	rules = append(rules, rule{})
	return map[string]any{"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": rules}
}

// emulate sends what holds for the whole browser. It comes before the first target is dressed.
func (o *owner) emulate() {
	if patterns := o.emulation.documents(); patterns != nil {
		o.mux.send("", "Fetch.enable", map[string]any{"patterns": patterns}, nil)
	}
	o.permit("")
}

// permit gives pages of a browser context ("" is the profile's own) what the identity says of their position.
func (o *owner) permit(browserContext string) {
	o.emulation.mu.Lock()
	defer o.emulation.mu.Unlock()
	if p := o.emulation.permission(browserContext); p != nil {
		o.mux.send("", "Browser.setPermission", p, nil)
	}
}

// begin attaches the owner to every target that there is and will be.
func (o *owner) begin(done func(answer)) {
	discover(o.mux) // attached targets alone do not tell where they are: a tab that a drop has opened says nothing
	o.mux.send("", "Target.setAutoAttach", autoAttach(unownedKinds()...), done)
}

// discover has Chrome tell of all targets, and of what becomes of them.
func discover(m *mux) {
	m.send("", "Target.setDiscoverTargets", map[string]any{"discover": true}, nil)
}

// dressing returns the state of a target, also of one that the owner has not seen yet.
func (o *owner) dressing(target string) *dressing {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.targets[target]
	if d == nil {
		d = &dressing{sent: make(chan struct{}), done: make(chan struct{}), gone: make(chan struct{})}
		o.targets[target] = d
	}
	return d
}

// attached is called on the reading goroutine for each target that the owner's auto-attach reports.
func (o *owner) attached(s *session, info TargetInfo) {
	d := o.dressing(s.target)
	if s.kind == "page" {
		o.mux.downloads.meets(info.Context)
	}
	o.mu.Lock()
	d.seen = true
	if !o.contexts[info.Context] && s.kind == "page" { // a client's own, with permissions of its own
		o.contexts[info.Context] = true
		o.permit(info.Context)
	}
	if hasFrames(s.kind) { // it tells where its frames go: closed_targets.go
		o.mux.send(s.id, "Page.enable", nil, nil)
	}
	if s.kind == "page" {
		o.pages = append(o.pages, Page{s.target, s.id, info.URL, info.Context})
		o.once.Do(func() { close(o.first) })
	}
	o.mu.Unlock()
	go o.prepare(s, info, d)
}

// dialog answers a page's alert, confirm, prompt or question before leaving, where nobody is there to do it, neither a client nor a person at a window: a
// session with Page enabled makes Chrome wait for the answer (Page.javascriptDialogOpening). Nobody's yes is a no, but a page may be left.
func (o *owner) dialog(s *session, params []byte) {
	var p struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(params, &p) != nil || o.emulation.headful || o.mux.hasClient(s.target) {
		return
	}
	o.mux.send(s.id, "Page.handleJavaScriptDialog", map[string]any{"accept": p.Type == "alert" || p.Type == "beforeunload"}, nil)
}

// detached is called when the owner's session on a target has ended.
func (o *owner) detached(s *session) {
	if s.kind == "page" {
		go o.closeUnowned(s)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if d := o.targets[s.target]; d != nil {
		d.finish()
		close(d.gone)
		delete(o.targets, s.target)
	}
	o.pages = slices.DeleteFunc(o.pages, func(p Page) bool {
		if p.Session == s.id {
			delete(o.contexts, p.context) // with another page of it, it gets its permissions again
		}
		return p.Session == s.id
	})
	if hasNavigator(s.kind) && o.emulation.isShared() {
		o.renewing.again = true
		go o.renew()
	}
}

// knows reports whether the owner is attached to a target.
func (o *owner) knows(d *dressing) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return d.seen
}

// closeUnowned closes a page that lives on without the owner: with its session the overrides have gone.
func (o *owner) closeUnowned(s *session) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	targets, err := o.mux.targets(ctx)
	lives := slices.ContainsFunc(targets, func(t TargetInfo) bool { return t.TargetID == s.target })
	if err == nil && lives && len(o.mux.owned(s.target)) == 0 {
		o.condemn(s, "the owner has lost it")
	}
}

// unseen forgets the state of a target that a client waited for and the owner never met.
func (o *owner) unseen(target string, d *dressing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !d.seen && o.targets[target] == d {
		delete(o.targets, target)
	}
}

// prepare dresses a target and lets it run. The commands go out in one go: Chrome handles them in order, so nothing runs before they took effect.
// A client's resume waits until the last is acknowledged. That one is the browser process' own: a tab without an opener has no renderer yet, and
// answers the others when it has been let go by everybody. What the browser process has passed on gets to the renderer before what comes later, also
// from another session (third_party/blink/public/mojom/devtools/devtools_agent.mojom: sessions are associated with the agent's pipe).
func (o *owner) prepare(s *session, info TargetInfo, d *dressing) {
	defer d.finish()
	orders, ok := o.orders(info)
	if !ok {
		o.condemn(s, "it could not be dressed in time")
		return
	}
	orders = append(orders, order{"Target.setAutoAttach", autoAttach("service_worker", "browser", "tab", "browser_ui")})
	acknowledged := o.give(s, orders)
	if !pausedOnce(info) {
		o.resume(s)
	}
	d.send.Do(func() { close(d.sent) })
	select {
	case <-acknowledged:
	case <-d.done: // the target has gone
	}
	if d.finish(); pausedOnce(info) {
		o.resumeAfterClients(s, d)
	}
}

// give sends orders to a session and returns what is closed when the last is answered, well or not.
func (o *owner) give(s *session, orders []order) <-chan struct{} {
	answered := make(chan struct{})
	if len(orders) == 0 {
		close(answered)
	}
	for i, c := range orders {
		o.mux.send(s.id, c.method, c.params, func(a answer) {
			if err := a.err(); err != nil {
				o.mux.log.Debug("target did not take a command", "method", c.method, "kind", s.kind, "error", err)
			}
			if i == len(orders)-1 {
				close(answered)
			}
		})
	}
	return answered
}

// condemn closes what must not run as it is: the target, or where that cannot be closed by itself, the page that it belongs to.
func (o *owner) condemn(s *session, why string) {
	o.mux.log.Error("a target is closed, so that it does not run undressed", "why", why, "target", s.target, "kind", s.kind)
	for {
		above := o.mux.session(s.parent)
		if above == nil || above.client != s.client {
			break
		}
		s = above
	}
	o.mux.send("", "Target.closeTarget", map[string]string{"targetId": s.target}, nil)
}

// bornBlank changes the parameters of a Target.createTarget so that the tab is born blank, and returns what sends it to its address
// when it is dressed, before the client hears of it: Chrome does not let such a tab wait for its debugger, it sends the first request
// at once. Nothing is changed where nothing is told.
func (o *owner) bornBlank(c *client, params []byte) ([]byte, func(answer, func())) {
	var p map[string]json.RawMessage
	var address string
	if !o.dresses.Load() || json.Unmarshal(params, &p) != nil || json.Unmarshal(p["url"], &address) != nil || address == "" || address == BlankPage {
		return params, nil
	}
	p["url"] = json.RawMessage(`"` + BlankPage + `"`)
	changed, _ := json.Marshal(p) // it was read from JSON
	return changed, func(a answer, deliver func()) {
		var made struct {
			TargetID string `json:"targetId"`
		}
		if a.err() != nil || json.Unmarshal(a.Result, &made) != nil {
			deliver()
			return
		}
		go o.sendTo(made.TargetID, address, c, deliver)
	}
}

// orders asks dress. ok is false when patience ended first.
func (o *owner) orders(info TargetInfo) (orders []order, ok bool) {
	if o.dress == nil {
		return nil, true
	}
	answer := make(chan []order, 1)
	go func() { answer <- o.dress(info) }()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case orders = <-answer:
		return orders, true
	case <-timer.C:
	}
	select { // a machine that slept wakes up to both
	case orders = <-answer:
		return orders, true
	default:
		return nil, false
	}
}

// openPages returns the pages that are open now.
func (o *owner) openPages() []Page {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.pages)
}

// allDressed waits until every page that is open now is attached and dressed.
func (o *owner) allDressed(ctx context.Context) error {
	targets, err := o.mux.targets(ctx)
	if err != nil {
		return err
	}
	for _, t := range targets {
		if t.Type == "page" {
			o.awaitDressed(ctx, t.TargetID)
		}
	}
	return ctx.Err()
}

// awaitDressed waits until a target is dressed; when it has gone, or is never attached, until patience ends.
func (o *owner) awaitDressed(ctx context.Context, target string) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	d := o.dressing(target)
	defer o.unseen(target, d)
	select {
	case <-d.done:
		return
	case <-ctx.Done():
		return
	case <-timer.C:
	}
	if !o.knows(d) {
		return
	}
	select { // a busy machine takes longer than any limit, and nothing but Chrome is waited for
	case <-d.done:
	case <-ctx.Done():
	}
}

// evaluate runs an expression on a page, in a world of its own, where the page's scripts cannot change what it sees. A blank page
// has no scripts.
func (o *owner) evaluate(ctx context.Context, p Page, expression string, value any) error {
	params := map[string]any{"expression": expression, "returnByValue": true}
	if p.URL != BlankPage {
		var world struct {
			ID int64 `json:"executionContextId"`
		}
		where := map[string]any{"frameId": p.Target, "worldName": "warren"}
		if err := o.mux.call(ctx, p.Session, "Page.createIsolatedWorld", where, &world); err != nil {
			return err
		}
		params["contextId"] = world.ID
	}
	var r struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
	}
	if err := o.mux.call(ctx, p.Session, "Runtime.evaluate", params, &r); err != nil {
		return err
	}
	return json.Unmarshal(r.Result.Value, value)
}

// awaitFirst waits for the first page.
func (o *owner) awaitFirst(ctx context.Context) error {
	select {
	case <-o.first:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// page returns the owner's session on a page.
func (o *owner) page(target string) (Page, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.pages {
		if p.Target == target {
			return p, true
		}
	}
	return Page{}, false
}
