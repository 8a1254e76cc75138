package browser

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// This file keeps clients off targets whose address is closed to them (closed_pages.go). The owner is told of every navigation when it starts, long before
// its document is there, and the pipe keeps the order: from then on nothing of such a target gets to a client, nor a command of a client's to it. What a
// client is not to have it does not hear of.

// shutTargets are the targets and frames that clients are kept off. mux.mu guards them. A frame that gets a process of its own becomes a target with the
// frame's id.
type shutTargets struct {
	installed *extensions
	at        map[string]bool   // the document that is there is closed
	onWay     map[string]bool   // it has started on its way to such a one
	lead      map[string]string // and since then to another that is not: the loader of that navigation
	left      map[string]bool   // the renderer says that it is there
}

func newShutTargets() shutTargets {
	return shutTargets{at: map[string]bool{}, onWay: map[string]bool{}, lead: map[string]string{}, left: map[string]bool{}}
}

func (t *shutTargets) has(id string) bool { return t.at[id] || t.onWay[id] }

// isShut reports whether clients are kept off a target.
func (m *mux) isShut(target string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.shut.has(target)
}

// isWithheld reports whether clients do not hear of a target: one that is closed to them, and a service worker without a browser context. Chrome keeps one
// whose context has gone; Playwright takes no target without a context.
func (m *mux) isWithheld(t TargetInfo) bool {
	return m.isShut(t.TargetID) || m.shut.installed.isClosed(t.URL) || t.Type == "service_worker" && t.Context == ""
}

// frameEvent is what is read of the events by which frames and targets say where they go.
type frameEvent struct {
	FrameID   string `json:"frameId"`
	URL       string `json:"url"`
	LoaderID  string `json:"loaderId"`
	Reason    string `json:"reason"`
	Type      string `json:"type"`
	SessionID string `json:"sessionId"`
	Frame     struct {
		ID          string `json:"id"`
		URL         string `json:"url"`
		LoaderID    string `json:"loaderId"`
		Unreachable string `json:"unreachableUrl"`
	} `json:"frame"`
	TargetInfo TargetInfo `json:"targetInfo"`
}

// watch follows on the owner's sessions where frames go, before anybody hears of it. It runs on the reading goroutine.
func (m *mux) watch(method string, params []byte) {
	switch method {
	case "Page.frameStartedNavigating", "Page.frameNavigated", "Page.frameDetached", "Target.targetCreated", "Target.attachedToTarget", "Target.targetInfoChanged", "Target.detachedFromTarget":
	default:
		return
	}
	var p frameEvent
	if json.Unmarshal(params, &p) != nil {
		return
	}
	switch method {
	case "Page.frameStartedNavigating":
		if m.shut.installed.isClosed(p.URL) {
			m.shutOut(p.FrameID, false)
		} else {
			m.leadsOut(p.FrameID, p.LoaderID)
		}
	case "Page.frameNavigated": // alone says that a document is there; of a target's address Chrome speaks earlier
		if m.shut.installed.isClosed(cmp.Or(p.Frame.Unreachable, p.Frame.URL)) {
			m.shutOut(p.Frame.ID, true)
			m.owner.mayClose(p.Frame.ID, cmp.Or(p.Frame.Unreachable, p.Frame.URL))
		} else if m.leftBy(p.Frame.ID, p.Frame.LoaderID, p.Type) {
			m.mayReopen(p.Frame.ID)
		}
		m.owner.arrived(p.Frame.ID)
	case "Target.targetCreated", "Target.attachedToTarget", "Target.targetInfoChanged":
		if m.shut.installed.isClosed(p.TargetInfo.URL) {
			m.shutOut(p.TargetInfo.TargetID, true)
		} else {
			m.mayReopen(p.TargetInfo.TargetID)
		}
		if p.TargetInfo.Type == "page" {
			m.owner.mayClose(p.TargetInfo.TargetID, p.TargetInfo.URL)
			m.owner.pageChanged(p.TargetInfo.TargetID)
		}
	case "Page.frameDetached":
		if p.Reason != "swap" { // to a process of its own
			m.forgetShut(p.FrameID)
		}
	case "Target.detachedFromTarget":
		if s := m.session(p.SessionID); s != nil {
			m.forgetShut(s.target)
		}
	}
}

func (m *mux) forgetShut(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.shut.at, id)
	delete(m.shut.onWay, id)
	delete(m.shut.lead, id)
	delete(m.shut.left, id)
	for _, s := range m.sessions {
		if t := s.told[id]; t != nil && !t.shown && !t.hidden {
			delete(s.told, id)
		}
	}
}

// leadsOut notes that a frame that is shut has started on its way to a document that clients may have.
func (m *mux) leadsOut(frame, loader string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shut.has(frame) {
		m.shut.lead[frame] = loader
	}
}

// leftBy reports whether a document that is there in a frame that is shut is what the frame went to last. It may be the one of before: a renderer says late
// what it has, and Chrome early where it goes. A document out of the cache has the loader that it had.
func (m *mux) leftBy(frame, loader, kind string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if lead, leads := m.shut.lead[frame]; leads && (loader == lead || kind == "BackForwardCacheRestore") {
		m.shut.left[frame] = true
		return true
	}
	return false
}

// mayReopen lets clients at a page again when the browser process, too, has left the closed document: its word of that may come after the renderer's, and a
// session that is made before begins in the old document. A frame with a process of its own stays shut until it has gone.
func (m *mux) mayReopen(target string) {
	left := func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.shut.left[target]
	}
	p, isPage := m.owner.page(target)
	if !isPage || !left() {
		return
	}
	m.send(p.Session, "Page.getNavigationHistory", nil, func(a answer) {
		var h navigationHistory
		if a.err() != nil || json.Unmarshal(a.Result, &h) != nil {
			return
		}
		if entry, ok := h.current(); ok && !m.shut.installed.isClosed(entry.URL) && left() {
			m.reopen(target)
		}
	})
}

// shutOut ends the sessions of clients on a target. What Chrome says on them from now on goes to nobody; that they end is on its way to Chrome when this
// returns, before whatever is sent after it.
func (m *mux) shutOut(target string, arrived bool) {
	m.mu.Lock()
	if arrived {
		delete(m.shut.onWay, target)
		m.shut.at[target] = true
	} else {
		delete(m.shut.lead, target)
		delete(m.shut.left, target)
		m.shut.onWay[target] = true
	}
	var off []*session
	var below [][]*session
	var calls []pending
	for _, s := range m.sessions {
		if s.client == nil || s.target != target || s.kind == "browser" {
			continue
		}
		if parent := m.sessions[s.parent]; parent != nil {
			parent.note(target).attach = true
		}
		gone, lost := m.drop(s)
		off, below, calls = append(off, s), append(below, gone), append(calls, lost...)
	}
	m.mu.Unlock()
	fail(calls, errSessionGone)
	for i, s := range off {
		m.detach(s.parent, s.id, func(answer) {
			for _, gone := range below[i] {
				m.owner.left(gone)
			}
		})
		for _, gone := range below[i] {
			gone.client.lost(gone)
		}
	}
	m.publish(Blocked{target})
}

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

// reopen lets clients at a target whose document is not closed any more: they hear of it, and those that were attached, or would have been, are attached.
func (m *mux) reopen(target string) {
	m.mu.Lock()
	delete(m.shut.at, target)
	delete(m.shut.onWay, target)
	delete(m.shut.lead, target)
	delete(m.shut.left, target)
	m.mu.Unlock()
	m.send("", "Target.getTargetInfo", map[string]string{"targetId": target}, func(a answer) {
		var got struct {
			TargetInfo json.RawMessage `json:"targetInfo"`
		}
		var info TargetInfo
		if a.err() != nil || json.Unmarshal(a.Result, &got) != nil || json.Unmarshal(got.TargetInfo, &info) != nil || m.isWithheld(info) {
			return
		}
		m.mu.Lock()
		var hear, attach []*session
		for _, s := range m.sessions {
			if t := s.told[target]; s.client != nil && t != nil {
				if t.hidden {
					hear = append(hear, s)
					t.hidden, t.shown = false, true
				}
				if t.attach && info.Type == "page" {
					attach = append(attach, s)
				}
				t.attach = false
			}
		}
		m.mu.Unlock()
		raw := m.attachedByClients(got.TargetInfo, target)
		for _, s := range hear {
			s.client.event(s, "Target.targetCreated", map[string]json.RawMessage{"targetInfo": raw})
		}
		for _, s := range attach {
			m.send(s.id, "Target.attachToTarget", map[string]any{"targetId": target, "flatten": true}, nil)
		}
	})
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

// closes says whether the owner closes a page at an address: without windows there is nobody who could want it, and of a file that a client dropped
// nobody has asked for the page.
func (o *owner) closes(address string) bool {
	return o.mux.shut.installed.isClosed(address) && (!o.emulation.headful || o.dropped.Load() && isFile(address))
}

// mayClose has a page closed that came to a closed address. While the browser starts that is handshake's.
func (o *owner) mayClose(target, address string) {
	if !o.closing.Load() || !o.closes(address) || o.mux.isPrivate(target) {
		return
	}
	go func() {
		o.awaitSent(target) // one that waits for its debugger does not close
		if _, isPage := o.page(target); !isPage {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
		defer cancel()
		if err := o.closePages(ctx, []string{target}, o.closeTarget); err != nil {
			o.mux.log.Warn("a page of the browser's own, or of a file, was not closed", "error", err)
		}
	}()
}

// awaitSent waits until the owner has let a target go; when it is never attached, until patience ends.
func (o *owner) awaitSent(target string) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	d := o.dressing(target)
	select {
	case <-d.sent:
	case <-d.done:
	case <-timer.C:
	case <-o.mux.in.done: // the browser has gone
	}
	o.unseen(target, d)
}

// closeTarget closes a page that may still wait for a client's session: Chrome says yes to that, and does it not always.
func (o *owner) closeTarget(target string) {
	d := o.dressing(target)
	defer o.unseen(target, d)
	for range closeTries {
		if _, open := o.page(target); !open {
			return
		}
		o.mux.send("", "Target.closeTarget", map[string]string{"targetId": target}, nil)
		timer := time.NewTimer(time.Second)
		select {
		case <-d.gone:
		case <-timer.C:
		case <-o.mux.in.done: // with the browser
			return
		}
	}
}

// closeTries is how often a page is closed that stays.
const closeTries = 10

// closeClosed closes the pages that are at a closed address where there is nobody who could want them, and the settings' page where a browser that died
// has left it among its tabs.
func (o *owner) closeClosed(ctx context.Context, shut func(target string)) error {
	targets, err := o.mux.targets(ctx)
	if err != nil {
		return err
	}
	var left []string
	for _, t := range targets {
		if t.Type == "page" && !o.mux.isPrivate(t.TargetID) && (t.URL == settingsPage || o.closes(t.URL)) {
			left = append(left, t.TargetID)
		}
	}
	return o.closePages(ctx, left, shut)
}

// closePages closes pages. A browser with nothing else gets a blank tab first: with its last one it would go.
func (o *owner) closePages(ctx context.Context, all []string, shut func(target string)) (err error) {
	o.closeOnce.Lock()
	stays := func(p Page) bool { return !slices.Contains(all, p.Target) && !o.mux.isShut(p.Target) }
	if len(all) > 0 && !slices.ContainsFunc(o.openPages(), stays) {
		err = o.mux.call(ctx, "", "Target.createTarget", map[string]string{"url": BlankPage}, nil)
	}
	o.closeOnce.Unlock()
	if err != nil {
		return err
	}
	for _, target := range all {
		o.mux.log.Warn("a page of the browser's own, or of a file, is closed", "target", target)
		shut(target)
	}
	return nil
}
