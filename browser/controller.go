package browser

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// controller uses the pipe's root session. It attaches to every target before the target's first line runs, sends the identity's overrides,
// and resumes the target. It closes a target that it cannot override.
type controller struct {
	mux       *mux
	emulation *emulation

	// overridesFor returns the overrides of a target. Tests replace it. A target without an answer after attachTimeout is closed.
	overridesFor func(TargetInfo) []override
	overriding   atomic.Bool // overridesFor returns something

	closeBlocked atomic.Bool // pages that reach a blocked address are closed
	filesDropped atomic.Bool // a client has dragged files to a page
	closeMu      sync.Mutex  // held while such pages are closed

	mu          sync.Mutex
	targets     map[string]*overrideState
	navigations map[string]*newTab // by target: new tabs that wait for their first navigation
	permitted   map[string]bool    // browser contexts that have the identity's permissions
	reapplying  reapplyState
	attachWait  time.Duration // attachWait; tests set another
	early       earlyRequests
	attaching   attachCounter
	pages       []Page        // in the order of attachment
	firstPage   chan struct{} // closed with the first page
	firstOnce   sync.Once     // of firstPage
}

// overrideState says how far the overrides of a target are. It is done when Chrome has acknowledged the last one.
type overrideState struct {
	sent     chan struct{} // closed when the overrides are sent: later commands find them in effect
	done     chan struct{}
	detached chan struct{} // closed when the controller's session has ended
	sentOnce sync.Once
	doneOnce sync.Once
	attached bool // the controller is attached; guarded by controller.mu
}

func (state *overrideState) finish() { state.doneOnce.Do(func() { close(state.done) }) }

func newController(m *mux) *controller {
	return &controller{mux: m, emulation: &emulation{}, targets: map[string]*overrideState{}, navigations: map[string]*newTab{},
		permitted: map[string]bool{"": true}, firstPage: make(chan struct{}),
		attachWait: attachWait, attaching: attachCounter{limit: attachLimit},
		early: earlyRequests{intercepted: map[string]bool{}, stopped: map[string]bool{}, uncertain: map[string]time.Time{},
			reloaded: map[string]time.Time{}}}
}

// autoAttachParams returns the parameters of Target.setAutoAttach (CDP) that leave out the given target types.
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

// emulate sends what applies to the whole browser, before the first target gets its overrides.
func (ctl *controller) emulate() {
	if patterns := ctl.emulation.pausedDocuments(); patterns != nil {
		ctl.mux.send("", "Fetch.enable", map[string]any{"patterns": patterns}, nil)
	}
	ctl.permit("")
}

// permit sends the geolocation permission of a browser context ("": the profile's own).
func (ctl *controller) permit(browserContext string) {
	ctl.emulation.mu.Lock()
	defer ctl.emulation.mu.Unlock()
	if p := ctl.emulation.permission(browserContext); p != nil {
		ctl.mux.send("", "Browser.setPermission", p, nil)
	}
}

// autoAttach attaches the controller to every existing and future target. done gets Chrome's answer.
func (ctl *controller) autoAttach(done func(answer)) {
	// an attached session alone does not tell addresses: a tab that a drop has opened tells none
	ctl.mux.send("", "Target.setDiscoverTargets", map[string]any{"discover": true}, nil)
	ctl.mux.send("", "Target.setAutoAttach", autoAttachParams(uncontrolledKinds()...), done)
}

// stateOf returns the state of a target, a new one if the controller has not attached to the target yet.
func (ctl *controller) stateOf(target string) *overrideState {
	ctl.mu.Lock()
	defer ctl.mu.Unlock()
	state := ctl.targets[target]
	if state == nil {
		state = &overrideState{sent: make(chan struct{}), done: make(chan struct{}), detached: make(chan struct{})}
		ctl.targets[target] = state
	}
	return state
}

// onAttached is called on the reading goroutine for each target that auto-attach reports.
func (ctl *controller) onAttached(s *session, info TargetInfo) {
	state := ctl.stateOf(s.target)
	if s.kind == "page" {
		ctl.mux.downloads.notePageContext(info.Context)
	}
	ctl.mu.Lock()
	state.attached = true
	if !ctl.permitted[info.Context] && s.kind == "page" { // a client's own context, with permissions of its own
		ctl.permitted[info.Context] = true
		ctl.permit(info.Context)
	}
	if hasFrames(s.kind) { // its navigation events are followed in blocked_targets.go
		ctl.mux.send(s.id, "Page.enable", nil, nil)
	}
	if s.kind == "page" {
		ctl.pages = append(ctl.pages, Page{s.target, s.id, info.URL, info.Context})
		ctl.firstOnce.Do(func() { close(ctl.firstPage) })
	}
	ctl.mu.Unlock()
	go ctl.setUp(s, info, state)
}

// onDialog answers a page's dialog when neither a client nor a person at a window can (CDP Page.javascriptDialogOpening). A session with
// Page enabled makes Chrome wait for the answer. Alerts are accepted and pages may be left; confirm and prompt are cancelled.
func (ctl *controller) onDialog(s *session, params []byte) {
	var p struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(params, &p) != nil || ctl.emulation.headful || ctl.mux.hasClient(s.target) {
		return
	}
	ctl.mux.send(s.id, "Page.handleJavaScriptDialog", map[string]any{"accept": p.Type == "alert" || p.Type == "beforeunload"}, nil)
}

// onDetached is called when the controller's session on a target has ended.
func (ctl *controller) onDetached(s *session) {
	if s.kind == "page" {
		ctl.mux.passkeys.closePage(s.target)
		go ctl.closeOrphan(s)
	}
	ctl.mu.Lock()
	defer ctl.mu.Unlock()
	if state := ctl.targets[s.target]; state != nil {
		state.finish()
		close(state.detached)
		delete(ctl.targets, s.target)
	}
	ctl.pages = slices.DeleteFunc(ctl.pages, func(p Page) bool {
		if p.Session == s.id {
			delete(ctl.permitted, p.context) // the next page of this context gets them again
		}
		return p.Session == s.id
	})
	if hasNavigator(s.kind) && len(ctl.emulation.processOverrides()) > 0 {
		ctl.reapplying.again = true
		go ctl.reapplyShared()
	}
}

// isAttached reports whether the controller is attached to a target.
func (ctl *controller) isAttached(state *overrideState) bool {
	ctl.mu.Lock()
	defer ctl.mu.Unlock()
	return state.attached
}

// closeOrphan closes a page that outlives the controller's session, since its overrides have ended with the session.
func (ctl *controller) closeOrphan(s *session) {
	ctx, cancel := context.WithTimeout(context.Background(), attachTimeout)
	defer cancel()
	targets, err := ctl.mux.targets(ctx)
	lives := slices.ContainsFunc(targets, func(t TargetInfo) bool { return t.TargetID == s.target })
	if err == nil && lives && len(ctl.mux.controllerSessions(s.target)) == 0 {
		ctl.closeTarget(s, "the controller's session has ended")
	}
}

// forgetUnattached deletes the state of a target that somebody has waited for and that was never attached.
func (ctl *controller) forgetUnattached(target string, state *overrideState) {
	ctl.mu.Lock()
	defer ctl.mu.Unlock()
	if !state.attached && ctl.targets[target] == state {
		delete(ctl.targets, target)
	}
}

// setUp sends a target its overrides and resumes it. Chrome handles the commands in order, so nothing runs before they are in effect.
//
// A client's resume waits until the last command is acknowledged. That command is handled by the browser process: a tab without an opener
// has no renderer yet, and answers the others only after every session has resumed it. What the browser process has passed on reaches the
// renderer before later commands, from other sessions too, since sessions share the agent's pipe
// (third_party/blink/public/mojom/devtools/devtools_agent.mojom).
func (ctl *controller) setUp(s *session, info TargetInfo, state *overrideState) {
	defer state.finish()
	overrides, ok := ctl.awaitOverridesFor(info)
	if !ok {
		ctl.closeTarget(s, "its overrides were not known in time")
		return
	}
	if s.kind == "page" {
		ctl.mux.passkeys.openPage(s.target, s.id, info.URL)
	}
	overrides = append(overrides, override{"Target.setAutoAttach", autoAttachParams("service_worker", "browser", "tab", "browser_ui")})
	acknowledged := ctl.sendOverrides(s, overrides)
	if !hasSingleResume(info) {
		ctl.resume(s)
	}
	state.sentOnce.Do(func() { close(state.sent) })
	select {
	case <-acknowledged:
	case <-state.done: // the target has gone
	}
	if state.finish(); hasSingleResume(info) {
		ctl.resumeAfterClients(s, state)
	}
}

// sendOverrides sends commands to a session. The returned channel is closed when the last one is answered, even with an error.
func (ctl *controller) sendOverrides(s *session, overrides []override) <-chan struct{} {
	answered := make(chan struct{})
	if len(overrides) == 0 {
		close(answered)
	}
	for i, c := range overrides {
		ctl.mux.send(s.id, c.method, c.params, func(a answer) {
			if err := a.err(); err != nil {
				ctl.mux.log.Debug("target did not take a command", "method", c.method, "kind", s.kind, "error", err)
			}
			if i == len(overrides)-1 {
				close(answered)
			}
		})
	}
	return answered
}

// closeTarget closes a target that must not run as it is, or the page that it belongs to if the target cannot be closed by itself.
func (ctl *controller) closeTarget(s *session, why string) {
	ctl.mux.log.Error("a target is closed, since it cannot run without overrides", "why", why, "target", s.target, "kind", s.kind)
	for {
		above := ctl.mux.session(s.parent)
		if above == nil || above.client != s.client {
			break
		}
		s = above
	}
	ctl.mux.send("", "Target.closeTarget", map[string]string{"targetId": s.target}, nil)
}

// createBlank changes the parameters of Target.createTarget so that the new tab is blank. The returned function navigates the tab to its
// address once it has its overrides, before the client gets the answer. Chrome does not pause such a tab: it would send the first request
// at once. Without overrides nothing is changed.
func (ctl *controller) createBlank(c *client, params []byte) ([]byte, func(answer, func())) {
	var p map[string]json.RawMessage
	var address string
	if !ctl.overriding.Load() || json.Unmarshal(params, &p) != nil || json.Unmarshal(p["url"], &address) != nil || address == "" ||
		address == BlankPage {
		return params, nil
	}
	p["url"] = json.RawMessage(`"` + BlankPage + `"`)
	changed, _ := json.Marshal(p) // p was decoded from JSON
	return changed, func(a answer, deliver func()) {
		made, err := a.reference()
		if err != nil {
			deliver()
			return
		}
		go ctl.navigateNewTab(made.TargetID, address, c, deliver)
	}
}

// awaitOverridesFor calls overridesFor. ok is false if it has not returned within attachTimeout.
func (ctl *controller) awaitOverridesFor(info TargetInfo) (overrides []override, ok bool) {
	if ctl.overridesFor == nil {
		return nil, true
	}
	answer := make(chan []override, 1)
	go func() { answer <- ctl.overridesFor(info) }()
	select {
	case overrides = <-answer:
		return overrides, true
	case <-time.After(attachTimeout):
	}
	select { // after a machine's sleep both are ready
	case overrides = <-answer:
		return overrides, true
	default:
		return nil, false
	}
}

// openPages returns the open pages.
func (ctl *controller) openPages() []Page {
	ctl.mu.Lock()
	defer ctl.mu.Unlock()
	return slices.Clone(ctl.pages)
}

// awaitAllOverrides waits until every page among targets has its overrides.
func (ctl *controller) awaitAllOverrides(ctx context.Context, targets []TargetInfo) error {
	for _, t := range targets {
		if t.Type == "page" {
			ctl.awaitOverrides(ctx, t.TargetID)
		}
	}
	return ctx.Err()
}

// awaitOverrides waits until a target has its overrides. It gives up after attachTimeout if the target has gone or is not attached.
func (ctl *controller) awaitOverrides(ctx context.Context, target string) {
	state := ctl.stateOf(target)
	defer ctl.forgetUnattached(target, state)
	select {
	case <-state.done:
		return
	case <-ctx.Done():
		return
	case <-time.After(attachTimeout):
	}
	if !ctl.isAttached(state) {
		return
	}
	select { // a busy machine takes any time, and only Chrome can delay it
	case <-state.done:
	case <-ctx.Done():
	}
}

// evaluate runs an expression on a page in an isolated world, where the page's scripts cannot influence it. A blank page has no scripts and
// needs no such world.
func (ctl *controller) evaluate(ctx context.Context, p Page, expression string, value any) error {
	params := map[string]any{"expression": expression, "returnByValue": true}
	if p.URL != BlankPage {
		var world struct {
			ID int64 `json:"executionContextId"`
		}
		where := map[string]any{"frameId": p.Target, "worldName": "warren"}
		if err := ctl.mux.call(ctx, p.Session, "Page.createIsolatedWorld", where, &world); err != nil {
			return err
		}
		params["contextId"] = world.ID
	}
	var r struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
	}
	if err := ctl.mux.call(ctx, p.Session, "Runtime.evaluate", params, &r); err != nil {
		return err
	}
	return json.Unmarshal(r.Result.Value, value)
}

// awaitFirstPage waits for the first page.
func (ctl *controller) awaitFirstPage(ctx context.Context) error {
	_, err := receive(ctx, ctl.firstPage)
	return err
}

// page returns an open page by its target.
func (ctl *controller) page(target string) (Page, bool) {
	ctl.mu.Lock()
	defer ctl.mu.Unlock()
	for _, p := range ctl.pages {
		if p.Target == target {
			return p, true
		}
	}
	return Page{}, false
}
