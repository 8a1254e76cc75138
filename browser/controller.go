package browser

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// controller is the root session's user: it is attached to every target before the target's first line runs, gives it what
// the profile declares, and lets it run. What it cannot dress does not run.
type controller struct {
	mux       *mux
	emulation *emulation

	// dress returns the commands that make a target what the profile says. A target that has none after patience is closed.
	overridesFor func(TargetInfo) []override
	overriding   atomic.Bool // dress has something to say

	closeBlocked atomic.Bool // pages at closed addresses are closed as they come
	filesDropped atomic.Bool // a client has dragged files to a page
	closeMu      sync.Mutex  // held while such pages are closed

	mu          sync.Mutex
	targets     map[string]*overrideState
	navigations map[string]*newTab // pages that are about to be sent to their address
	permitted   map[string]bool    // browser contexts that have their permissions
	reapplying  reapplyState
	attachWait  time.Duration // tests set another
	early       earlyRequests
	attaching   attachCounter
	pages       []Page        // pages in the order in which they were attached
	firstPage   chan struct{} // closed with the first page
	firstOnce   sync.Once     // for first
}

// overrideState is the state of a target: done when the owner's commands have been acknowledged.
type overrideState struct {
	sent     chan struct{} // closed when the owner's commands are on their way: what comes behind them finds the target dressed
	done     chan struct{}
	detached chan struct{} // closed when the owner's session on it has ended
	sentOnce sync.Once
	doneOnce sync.Once
	attached bool // the owner is attached; guarded by owner.mu
}

func (d *overrideState) finish() { d.doneOnce.Do(func() { close(d.done) }) }

func (d *overrideState) isDone() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

func newController(m *mux) *controller {
	return &controller{mux: m, emulation: &emulation{}, targets: map[string]*overrideState{}, navigations: map[string]*newTab{}, permitted: map[string]bool{"": true}, firstPage: make(chan struct{}),
		attachWait: attachWait, attaching: attachCounter{limit: attachLimit}, early: earlyRequests{intercepted: map[string]bool{}, stopped: map[string]bool{}, uncertain: map[string]time.Time{}, reloaded: map[string]time.Time{}}}
}

// autoAttachParams is the parameters of Target.setAutoAttach that leave out the given kinds of target.
func autoAttachParams(without ...string) any {
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
func (o *controller) emulate() {
	if patterns := o.emulation.pausedDocuments(); patterns != nil {
		o.mux.send("", "Fetch.enable", map[string]any{"patterns": patterns}, nil)
	}
	o.permit("")
}

// permit gives pages of a browser context ("" is the profile's own) what the identity says of their position.
func (o *controller) permit(browserContext string) {
	o.emulation.mu.Lock()
	defer o.emulation.mu.Unlock()
	if p := o.emulation.permission(browserContext); p != nil {
		o.mux.send("", "Browser.setPermission", p, nil)
	}
}

// autoAttach attaches the owner to every target that there is and will be.
func (o *controller) autoAttach(done func(answer)) {
	discoverTargets(o.mux) // attached targets alone do not tell where they are: a tab that a drop has opened says nothing
	o.mux.send("", "Target.setAutoAttach", autoAttachParams(uncontrolledKinds()...), done)
}

// discoverTargets has Chrome tell of all targets, and of what becomes of them.
func discoverTargets(m *mux) {
	m.send("", "Target.setDiscoverTargets", map[string]any{"discover": true}, nil)
}

// stateOf returns the state of a target, also of one that the owner has not seen yet.
func (o *controller) stateOf(target string) *overrideState {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.targets[target]
	if d == nil {
		d = &overrideState{sent: make(chan struct{}), done: make(chan struct{}), detached: make(chan struct{})}
		o.targets[target] = d
	}
	return d
}

// onAttached is called on the reading goroutine for each target that the owner's auto-attach reports.
func (o *controller) onAttached(s *session, info TargetInfo) {
	d := o.stateOf(s.target)
	if s.kind == "page" {
		o.mux.downloads.notePageContext(info.Context)
	}
	o.mu.Lock()
	d.attached = true
	if !o.permitted[info.Context] && s.kind == "page" { // a client's own, with permissions of its own
		o.permitted[info.Context] = true
		o.permit(info.Context)
	}
	if hasFrames(s.kind) { // it tells where its frames go: closed_targets.go
		o.mux.send(s.id, "Page.enable", nil, nil)
	}
	if s.kind == "page" {
		o.pages = append(o.pages, Page{s.target, s.id, info.URL, info.Context})
		o.firstOnce.Do(func() { close(o.firstPage) })
	}
	o.mu.Unlock()
	go o.setUp(s, info, d)
}

// onDialog answers a page's alert, confirm, prompt or question before leaving, where nobody is there to do it, neither a client nor a person at a window: a
// session with Page enabled makes Chrome wait for the answer (Page.javascriptDialogOpening). Nobody's yes is a no, but a page may be left.
func (o *controller) onDialog(s *session, params []byte) {
	var p struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(params, &p) != nil || o.emulation.headful || o.mux.hasClient(s.target) {
		return
	}
	o.mux.send(s.id, "Page.handleJavaScriptDialog", map[string]any{"accept": p.Type == "alert" || p.Type == "beforeunload"}, nil)
}

// onDetached is called when the owner's session on a target has ended.
func (o *controller) onDetached(s *session) {
	if s.kind == "page" {
		go o.closeOrphan(s)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if d := o.targets[s.target]; d != nil {
		d.finish()
		close(d.detached)
		delete(o.targets, s.target)
	}
	o.pages = slices.DeleteFunc(o.pages, func(p Page) bool {
		if p.Session == s.id {
			delete(o.permitted, p.context) // with another page of it, it gets its permissions again
		}
		return p.Session == s.id
	})
	if hasNavigator(s.kind) && o.emulation.hasProcessOverrides() {
		o.reapplying.again = true
		go o.reapplyShared()
	}
}

// isAttached reports whether the owner is attached to a target.
func (o *controller) isAttached(d *overrideState) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return d.attached
}

// closeOrphan closes a page that lives on without the owner: with its session the overrides have gone.
func (o *controller) closeOrphan(s *session) {
	ctx, cancel := context.WithTimeout(context.Background(), attachTimeout)
	defer cancel()
	targets, err := o.mux.targets(ctx)
	lives := slices.ContainsFunc(targets, func(t TargetInfo) bool { return t.TargetID == s.target })
	if err == nil && lives && len(o.mux.controllerSessions(s.target)) == 0 {
		o.closeTarget(s, "the owner has lost it")
	}
}

// forgetUnattached forgets the state of a target that a client waited for and the owner never met.
func (o *controller) forgetUnattached(target string, d *overrideState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !d.attached && o.targets[target] == d {
		delete(o.targets, target)
	}
}

// setUp dresses a target and lets it run. The commands go out in one go: Chrome handles them in order, so nothing runs before they took effect.
// A client's resume waits until the last is acknowledged. That one is the browser process' own: a tab without an opener has no renderer yet, and
// answers the others when it has been let go by everybody. What the browser process has passed on gets to the renderer before what comes later, also
// from another session (third_party/blink/public/mojom/devtools/devtools_agent.mojom: sessions are associated with the agent's pipe).
func (o *controller) setUp(s *session, info TargetInfo, d *overrideState) {
	defer d.finish()
	orders, ok := o.awaitOverridesFor(info)
	if !ok {
		o.closeTarget(s, "it could not be dressed in time")
		return
	}
	orders = append(orders, override{"Target.setAutoAttach", autoAttachParams("service_worker", "browser", "tab", "browser_ui")})
	acknowledged := o.sendOverrides(s, orders)
	if !hasSingleResume(info) {
		o.resume(s)
	}
	d.sentOnce.Do(func() { close(d.sent) })
	select {
	case <-acknowledged:
	case <-d.done: // the target has gone
	}
	if d.finish(); hasSingleResume(info) {
		o.resumeAfterClients(s, d)
	}
}

// sendOverrides sends orders to a session and returns what is closed when the last is answered, well or not.
func (o *controller) sendOverrides(s *session, orders []override) <-chan struct{} {
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

// closeTarget closes what must not run as it is: the target, or where that cannot be closed by itself, the page that it belongs to.
func (o *controller) closeTarget(s *session, why string) {
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

// createBlank changes the parameters of a Target.createTarget so that the tab is born blank, and returns what sends it to its address
// when it is dressed, before the client hears of it: Chrome does not let such a tab wait for its debugger, it sends the first request
// at once. Nothing is changed where nothing is told.
func (o *controller) createBlank(c *client, params []byte) ([]byte, func(answer, func())) {
	var p map[string]json.RawMessage
	var address string
	if !o.overriding.Load() || json.Unmarshal(params, &p) != nil || json.Unmarshal(p["url"], &address) != nil || address == "" || address == BlankPage {
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
		go o.navigateNewTab(made.TargetID, address, c, deliver)
	}
}

// awaitOverridesFor asks dress. ok is false when patience ended first.
func (o *controller) awaitOverridesFor(info TargetInfo) (orders []override, ok bool) {
	if o.overridesFor == nil {
		return nil, true
	}
	answer := make(chan []override, 1)
	go func() { answer <- o.overridesFor(info) }()
	timer := time.NewTimer(attachTimeout)
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
func (o *controller) openPages() []Page {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.pages)
}

// awaitAllOverrides waits until every page that is open now is attached and dressed.
func (o *controller) awaitAllOverrides(ctx context.Context) error {
	targets, err := o.mux.targets(ctx)
	if err != nil {
		return err
	}
	for _, t := range targets {
		if t.Type == "page" {
			o.awaitOverrides(ctx, t.TargetID)
		}
	}
	return ctx.Err()
}

// awaitOverrides waits until a target is dressed; when it has gone, or is never attached, until patience ends.
func (o *controller) awaitOverrides(ctx context.Context, target string) {
	timer := time.NewTimer(attachTimeout)
	defer timer.Stop()
	d := o.stateOf(target)
	defer o.forgetUnattached(target, d)
	select {
	case <-d.done:
		return
	case <-ctx.Done():
		return
	case <-timer.C:
	}
	if !o.isAttached(d) {
		return
	}
	select { // a busy machine takes longer than any limit, and nothing but Chrome is waited for
	case <-d.done:
	case <-ctx.Done():
	}
}

// evaluate runs an expression on a page, in a world of its own, where the page's scripts cannot change what it sees. A blank page
// has no scripts.
func (o *controller) evaluate(ctx context.Context, p Page, expression string, value any) error {
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

// awaitFirstPage waits for the first page.
func (o *controller) awaitFirstPage(ctx context.Context) error {
	select {
	case <-o.firstPage:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// page returns the owner's session on a page.
func (o *controller) page(target string) (Page, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.pages {
		if p.Target == target {
			return p, true
		}
	}
	return Page{}, false
}
