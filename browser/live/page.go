package live

import (
	"encoding/json"
	"time"

	"warren/browser"
)

// pageMessage is what the address bar shows; docs/live.md.
type pageMessage struct {
	Type         string `json:"type"`
	Tab          string `json:"tab"`
	URL          string `json:"url"`
	Title        string `json:"title"`
	Loading      bool   `json:"loading"`
	CanGoBack    bool   `json:"canGoBack"`
	CanGoForward bool   `json:"canGoForward"`
}

// frontLookup is the state of the search for the tab in front. View.mu guards it.
type frontLookup struct {
	busy  bool
	again bool // something has changed since the search began
}

// followFront shows the tab in front, which all viewers see. One search is under way at a time. l.mu is held.
func (l *View) followFront() {
	if l.lookup.busy {
		l.lookup.again = true
		return
	}
	l.lookup.busy = true
	go func() {
		for more := true; more; {
			front, visible := l.awaitFront()
			l.mu.Lock()
			more = l.lookup.again
			l.lookup = frontLookup{busy: more}
			if len(l.viewers) > 0 && !more {
				l.show(front, !visible)
			}
			l.mu.Unlock()
		}
	}()
}

const (
	// frontTimeout is how long the search goes on while no page is in front, as in a minimized window. Then the view brings one there.
	frontTimeout = 2 * time.Second
	frontPeriod  = 50 * time.Millisecond // between two attempts
)

// awaitFront waits until a page is in front: a new one takes its time to say so.
func (l *View) awaitFront() (target string, visible bool) {
	deadline := time.Now().Add(frontTimeout)
	pause := time.NewTicker(frontPeriod)
	defer pause.Stop()
	for {
		target, visible = l.chrome.Front()
		if visible || time.Now().After(deadline) || !l.watched.Load() {
			return target, visible
		}
		<-pause.C
	}
}

// show makes a tab the one that viewers see. raise brings it to the front (CDP Page.bringToFront). l.mu is held.
func (l *View) show(target string, raise bool) {
	if target == l.active && l.session != "" {
		if raise {
			l.command(l.session, "Page.bringToFront", nil, nil)
		}
		return
	}
	l.release()
	p, ok := l.chrome.Page(target)
	if !ok {
		l.broadcast(l.tabsMessage())
		return
	}
	l.active, l.session = target, p.Session
	l.feed.Show(target, l.holder != nil)
	l.page = pageMessage{Type: "page", Tab: target, URL: truncate(p.URL, maxAddress)}
	if t := l.tab(target); t != nil {
		l.page.URL, l.page.Title = t.URL, t.Title
	}
	l.enablePage()
	if raise {
		l.command(l.session, "Page.bringToFront", nil, nil)
	}
	l.interceptChoosers()
	l.capture.start(l)
	l.broadcast(l.tabsMessage())
	l.broadcast(l.page)
	l.queryHistory()
}

// release stops showing the tab and undoes what the view has set on its page. l.mu is held.
func (l *View) release() {
	if l.session == "" {
		return
	}
	l.dismissPrompts()
	l.capture.stop(l)
	l.feed.Send(l.session, "Page.setInterceptFileChooserDialog", map[string]any{"enabled": false}, nil)
	l.forgetPage()
}

// forgetPage forgets the tab that was shown. l.mu is held.
func (l *View) forgetPage() {
	l.closePrompts("")
	l.active, l.session, l.cursor.shape, l.drag = "", "", "", drag{}
	l.feed.Show("", false)
}

// onPageEvent handles an event of the page that is shown, and reports whether it is one for the view. l.mu is held.
func (l *View) onPageEvent(e browser.Event) (handled bool) {
	switch e.Method {
	case "Page.screencastFrame":
		l.capture.onFrame(l, e.Params)
	case "Page.screencastVisibilityChanged":
		var p struct {
			Visible bool `json:"visible"`
		}
		if json.Unmarshal(e.Params, &p) == nil && !p.Visible {
			l.followFront()
		}
	case "Page.frameStartedLoading", "Page.frameStoppedLoading":
		l.onLoading(e.Params, e.Method == "Page.frameStartedLoading")
	case "Page.frameNavigated", "Page.navigatedWithinDocument":
		l.onNavigated(e.Params)
	case "Page.javascriptDialogOpening":
		return l.onDialog(e)
	case "Page.javascriptDialogClosed": // somebody has answered; a page has one dialog at a time
		l.closePrompts("dialog")
	case "Input.dragIntercepted":
		l.onDrag(e.Params)
	case "Page.fileChooserOpened":
		l.onChooser(e.Params)
	default:
		return false
	}
	return true
}

// onLoading handles Page.frameStartedLoading and Page.frameStoppedLoading (CDP). l.mu is held.
func (l *View) onLoading(params []byte, begun bool) {
	var p struct {
		FrameID string `json:"frameId"`
	}
	if json.Unmarshal(params, &p) != nil || p.FrameID != l.active { // the main frame has the id of its target
		return
	}
	l.page.Loading = begun
	l.broadcast(l.page)
	if !begun {
		l.recapture(true)
		l.queryHistory()
		l.queryTitles()
	}
}

// onRendererRestart handles Inspector.targetReloadedAfterCrash (CDP): a tab has a renderer again. Commands to the crashed one were lost,
// since Chrome answers them with "Target crashed". l.mu is held.
func (l *View) onRendererRestart(e browser.Event) {
	t := l.tab(e.Target)
	if t == nil {
		return
	}
	t.Crashed, t.reloading = false, true
	l.broadcast(l.tabsMessage())
	if e.Session == l.session {
		l.enablePage()
		l.interceptChoosers()
	}
}

// enablePage asks the page for its events. l.mu is held.
func (l *View) enablePage() {
	session := l.session
	l.command(session, "Page.enable", nil, func(json.RawMessage) { // the document is there, or Page.frameNavigated will follow
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.session == session {
			l.recapture(false)
		}
	})
}

// recapture restarts the capture of a renderer that is new after a crash. A capture that began earlier may never send a frame of a page
// that does not change: Chrome drops the first frame if the page's size has changed since. complete: the document has been loaded. l.mu is
// held.
func (l *View) recapture(complete bool) {
	if t := l.tab(l.active); t != nil && t.reloading {
		t.reloading = !complete
		l.capture.restart(l)
	}
}

// onNavigated updates the address bar (CDP Page.frameNavigated, Page.navigatedWithinDocument). The list of tabs gets new addresses from
// Target.targetInfoChanged. l.mu is held.
func (l *View) onNavigated(params []byte) {
	var p struct {
		FrameID string `json:"frameId"`
		URL     string `json:"url"`
		Frame   struct {
			ID       string `json:"id"`
			URL      string `json:"url"`
			Fragment string `json:"urlFragment"`
		} `json:"frame"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	address, isNew := p.URL, p.Frame.ID != ""
	if isNew {
		address, p.FrameID = p.Frame.URL+p.Frame.Fragment, p.Frame.ID
	}
	if p.FrameID != l.active {
		return
	}
	if isNew { // the prompts of the previous document are over
		l.closePrompts("")
		l.recapture(false) // the new document may never be complete
	}
	l.page.URL = truncate(address, maxAddress)
	l.broadcast(l.page)
	l.queryHistory()
}

func badAddress() *refusal {
	return &refusal{"bad_address", "Only http, https and about:blank addresses can be opened."}
}

// navigate carries out what the address bar and its buttons ask. l.mu is held.
func (l *View) navigate(do, address string) *refusal {
	switch do {
	case "to":
		if browser.CheckURL(address) != nil {
			return badAddress()
		}
		l.command(l.session, "Page.navigate", map[string]string{"url": address}, nil)
	case "reload":
		l.command(l.session, "Page.reload", nil, nil)
	case "stop":
		l.command(l.session, "Page.stopLoading", nil, nil)
	case "back", "forward":
		session, step := l.session, map[string]int{"back": -1, "forward": 1}[do]
		l.command(session, "Page.getNavigationHistory", nil, func(result json.RawMessage) {
			var h navigationHistory
			if json.Unmarshal(result, &h) != nil {
				return
			}
			if i := h.CurrentIndex + step; i >= 0 && i < len(h.Entries) {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.command(session, "Page.navigateToHistoryEntry", map[string]int{"entryId": h.Entries[i].ID}, nil)
			}
		})
	default:
		return unknownWord("do", do)
	}
	return nil
}

// navigationHistory is what is read of the answer to Page.getNavigationHistory.
type navigationHistory struct {
	CurrentIndex int `json:"currentIndex"`
	Entries      []struct {
		ID int `json:"id"`
	} `json:"entries"`
}

// historyPause is the least time between two queries of a page's history. A page can cause many of them, and an answer has up to 50
// addresses of 2 MiB. After a slow answer the pause is longer.
const historyPause = 250 * time.Millisecond

// historyQuery is the state of the query. View.mu guards it.
type historyQuery struct {
	busy bool
	due  bool // another query is needed after the pause
}

// queryHistory finds out whether the page can go back and forward. l.mu is held.
func (l *View) queryHistory() {
	q := l.history
	switch {
	case l.session == "":
		return
	case q.busy:
		q.due = true
		return
	}
	q.busy = true
	target, asked := l.active, time.Now()
	l.feed.Send(l.session, "Page.getNavigationHistory", nil, func(a browser.Answer) {
		go func() { // decoding a long answer must not delay events
			l.onHistory(target, a)
			time.AfterFunc(max(historyPause, 2*time.Since(asked)), func() { l.historyDue(q) })
		}()
	})
}

// onHistory tells viewers of a changed answer.
func (l *View) onHistory(target string, a browser.Answer) {
	var h navigationHistory
	if a.Err != nil || json.Unmarshal(a.Result, &h) != nil {
		l.log.Debug("a page did not tell its history", "error", a.Err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	back, forward := h.CurrentIndex > 0, h.CurrentIndex < len(h.Entries)-1
	if l.active == target && (back != l.page.CanGoBack || forward != l.page.CanGoForward) {
		l.page.CanGoBack, l.page.CanGoForward = back, forward
		l.broadcast(l.page)
	}
}

// historyDue ends the pause after a query.
func (l *View) historyDue(q *historyQuery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.history != q {
		return // the view has ended meanwhile
	}
	q.busy = false
	if q.due {
		q.due = false
		l.queryHistory()
	}
}
