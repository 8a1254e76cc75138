package browser

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// This file is the view's list of tabs, and which of them is shown. All viewers see the same one: the tab in front.

type tabsMessage struct {
	Type   string    `json:"type"`
	Active string    `json:"active"`
	Tabs   []liveTab `json:"tabs"`
}

// pageMessage is what the address bar shows.
type pageMessage struct {
	Type         string `json:"type"`
	Tab          string `json:"tab"`
	URL          string `json:"url"`
	Title        string `json:"title"`
	Loading      bool   `json:"loading"`
	CanGoBack    bool   `json:"canGoBack"`
	CanGoForward bool   `json:"canGoForward"`
}

func (l *live) tabsMessage() tabsMessage {
	tabs := l.tabs
	if tabs == nil {
		tabs = []liveTab{}
	}
	return tabsMessage{"tabs", l.active, tabs}
}

// browserEvent is an event of the browser itself. l.mu is held.
func (l *live) browserEvent(method string, params []byte) (taken bool) {
	switch method {
	case "Target.targetCreated", "Target.targetInfoChanged", "Target.targetDestroyed", "Target.targetCrashed":
		l.tabEvent(method, params)
	case "Browser.downloadWillBegin", "Browser.downloadProgress":
		l.downloadEvent(method, params)
	default:
		return false
	}
	return true
}

func (l *live) tabEvent(method string, params []byte) {
	var p struct {
		TargetInfo targetInfo `json:"targetInfo"`
		TargetID   string     `json:"targetId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	id := p.TargetID
	if id == "" {
		id = p.TargetInfo.TargetID
	}
	i := slices.IndexFunc(l.tabs, func(t liveTab) bool { return t.ID == id })
	switch {
	case method == "Target.targetDestroyed":
		if i < 0 {
			return
		}
		l.tabs = slices.Delete(l.tabs, i, i+1)
		if id == l.active {
			l.lose()
		}
	case method == "Target.targetCrashed":
		if i < 0 {
			return
		}
		l.tabs[i].Crashed = true
		if id == l.active {
			l.page.Loading = false
			l.tellAll(l.page)
		}
	case p.TargetInfo.Type != "page":
		return
	case l.b.mux.isWithheld(p.TargetInfo):
		l.drop(id)
		return
	case i < 0:
		l.tabs = append(l.tabs, tabOf(p.TargetInfo))
	case !l.renamed(&l.tabs[i], p.TargetInfo):
		return
	}
	l.tellAll(l.tabsMessage())
	if method == "Target.targetCreated" && l.active == "" {
		go l.settle()
	}
}

// drop takes a tab out of the list that viewers may not have. l.mu is held.
func (l *live) drop(target string) {
	if i := slices.IndexFunc(l.tabs, func(t liveTab) bool { return t.ID == target }); i >= 0 {
		l.tabs = slices.Delete(l.tabs, i, i+1)
		l.tellAll(l.tabsMessage())
	}
}

// shutOut takes a tab from viewers that has started on its way to what is closed to them.
func (l *live) shutOut(target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.drop(target); l.active == target && l.session != "" {
		l.release(l.b.mux)
		go l.settle()
	}
}

func tabOf(t targetInfo) liveTab {
	return liveTab{ID: t.TargetID, Title: cut(t.Title, maxTitle), URL: cut(t.URL, maxAddress)}
}

// renamed takes over a tab's title and address, and says whether they are new. l.mu is held.
func (l *live) renamed(tab *liveTab, t targetInfo) bool {
	now := tabOf(t)
	if tab.Title == now.Title && tab.URL == now.URL {
		return false
	}
	tab.Title, tab.URL = now.Title, now.URL
	if t.TargetID == l.active {
		l.page.URL, l.page.Title = now.URL, now.Title
		l.tellAll(l.page)
		l.askHistory()
	}
	return true
}

// titlePeriod is how often the tabs are asked for their titles while somebody watches: Chrome tells of new addresses by itself, and of titles not always.
const titlePeriod = 2 * time.Second

// keepTitles asks until stop is closed.
func (l *live) keepTitles(stop <-chan struct{}) {
	tick := time.NewTicker(titlePeriod)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-l.b.done:
			return
		case <-tick.C:
			l.askTitles()
		}
	}
}

// askTitles asks every tab for its title (Target.getTargets).
func (l *live) askTitles() {
	l.ask("", "Target.getTargets", nil, func(result json.RawMessage) {
		var got struct {
			TargetInfos []targetInfo `json:"targetInfos"`
		}
		if json.Unmarshal(result, &got) != nil {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		changed := false
		for _, t := range got.TargetInfos {
			if tab := l.tab(t.TargetID); tab != nil && !l.b.mux.isWithheld(t) {
				changed = l.renamed(tab, t) || changed
			}
		}
		if changed {
			l.tellAll(l.tabsMessage())
		}
	})
}

// settle finds the tab in front and shows it. One look is under way at a time.
func (l *live) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.settling {
		l.again = true
		return
	}
	l.settling = true
	go func() {
		for more := true; more; {
			front, seen := l.awaitFront()
			l.mu.Lock()
			more = l.again
			l.again, l.settling = false, more
			if len(l.viewers) > 0 && !more {
				l.show(front, !seen)
			}
			l.mu.Unlock()
		}
	}()
}

// awaitFront asks until a page is in front: a new one takes its time to say so. After frontPatience there is none, as in a window that is minimized.
func (l *live) awaitFront() (target string, seen bool) {
	late := time.Now().Add(frontPatience)
	pause := time.NewTicker(frontTimeout / 10)
	defer pause.Stop()
	for {
		target, seen = l.front()
		if seen || time.Now().After(late) || !l.busy.Load() {
			return target, seen
		}
		<-pause.C
	}
}

// frontPatience is how long there may be no page in front before one is brought there.
const frontPatience = 2 * time.Second

// frontTimeout is how long pages may take to say whether they are in front. Restored ones that are not loaded do not answer.
const frontTimeout = 500 * time.Millisecond

// front asks every page whether it is seen (Page Visibility, W3C), and returns the first that is. Of several, as in several windows, the one that is
// shown already stays. When none says so it is that one, or the last; "" when there is no page at all.
func (l *live) front() (target string, isSeen bool) {
	ctx, cancel := context.WithTimeout(context.Background(), frontTimeout)
	defer cancel()
	pages := slices.DeleteFunc(l.b.mux.owner.openPages(), func(p page) bool { return l.b.mux.isShut(p.target) })
	seen := make([]bool, len(pages))
	var wg sync.WaitGroup
	for i, p := range pages {
		wg.Go(func() {
			var state string
			seen[i] = l.b.mux.owner.evaluate(ctx, p, "document.visibilityState", &state) == nil && state == "visible"
		})
	}
	wg.Wait()
	l.mu.Lock()
	active := l.active
	l.mu.Unlock()
	first, known := "", false
	for i, p := range pages {
		switch {
		case seen[i] && p.target == active:
			return active, true
		case seen[i] && first == "":
			first = p.target
		}
		known = known || p.target == active
	}
	switch {
	case first != "":
		return first, true
	case known:
		return active, false
	case len(pages) > 0:
		return pages[len(pages)-1].target, false
	}
	return "", false
}

// show makes a tab the one that viewers see. raise brings it to the front (Page.bringToFront). l.mu is held.
func (l *live) show(target string, raise bool) {
	if target == l.active && l.session != "" {
		if raise {
			l.ask(l.session, "Page.bringToFront", nil, nil)
		}
		return
	}
	l.release(l.b.mux)
	p, ok := l.b.mux.owner.page(target)
	if !ok || l.b.mux.isShut(target) {
		l.tellAll(l.tabsMessage())
		return
	}
	l.active, l.session = target, p.session
	l.page = pageMessage{Type: "page", Tab: target, URL: cut(p.url, maxAddress)}
	if tab := l.tab(target); tab != nil {
		l.page.URL, l.page.Title = tab.URL, tab.Title
	}
	l.enable()
	if raise {
		l.ask(l.session, "Page.bringToFront", nil, nil)
	}
	l.intercept()
	l.cast.start(l)
	l.tellAll(l.tabsMessage())
	l.tellAll(l.page)
	l.askHistory()
}

// release lets go of the tab that is shown: its page is as it was before. l.mu is held.
func (l *live) release(m *mux) {
	if l.session == "" {
		return
	}
	l.dismiss()
	l.cast.stop(l)
	m.send(l.session, "Page.setInterceptFileChooserDialog", map[string]any{"enabled": false}, nil)
	l.forget()
}

// lose forgets a tab that has gone, and looks for what stands in front now. l.mu is held.
func (l *live) lose() {
	l.cast.lost()
	l.forget()
	go l.settle()
}

func (l *live) forget() {
	for id := range l.prompts {
		l.answered(id)
	}
	l.active, l.session, l.under.said, l.drag = "", "", "", drag{}
}

// pageEvent is an event of the tab that is shown. l.mu is held.
func (l *live) pageEvent(method string, params []byte) (taken bool) {
	switch method {
	case "Page.screencastFrame":
		l.cast.frame(l, params)
	case "Page.screencastVisibilityChanged":
		var p struct {
			Visible bool `json:"visible"`
		}
		if json.Unmarshal(params, &p) == nil && !p.Visible {
			go l.settle()
		}
	case "Page.frameStartedLoading", "Page.frameStoppedLoading":
		l.loading(params, method == "Page.frameStartedLoading")
	case "Page.frameNavigated", "Page.navigatedWithinDocument":
		l.navigated(params)
	case "Page.javascriptDialogOpening":
		return l.dialogOpening(params)
	case "Page.javascriptDialogClosed":
		l.dialogClosed()
	case "Input.dragIntercepted":
		l.dragIntercepted(params)
	case "Page.fileChooserOpened":
		l.chooserOpened(params)
	case "Inspector.targetCrashed", "Inspector.targetReloadedAfterCrash": // the list says so too
	default:
		return false
	}
	return true
}

func (l *live) loading(params []byte, begun bool) {
	var p struct {
		FrameID string `json:"frameId"`
	}
	if json.Unmarshal(params, &p) != nil || p.FrameID != l.active { // a page's main frame has the page's id
		return
	}
	l.page.Loading = begun
	l.tellAll(l.page)
	if !begun {
		l.loaded(true)
		l.askHistory()
		l.askTitles()
	}
}

// revived notes that a tab has a renderer again (Inspector.targetReloadedAfterCrash). What was asked of the page while it had none was lost: Chrome answers
// it "Target crashed". l.mu is held.
func (l *live) revived(s *session) {
	tab := l.tab(s.target)
	if tab == nil {
		return
	}
	tab.Crashed, tab.reborn = false, true
	l.tellAll(l.tabsMessage())
	if s.id == l.session {
		l.enable()
		l.intercept()
	}
}

// enable asks the tab that is shown for its events. l.mu is held.
func (l *live) enable() {
	session := l.session
	l.ask(session, "Page.enable", nil, func(json.RawMessage) { // its document is there by now, or Page.frameNavigated will tell of it
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.session == session {
			l.loaded(false)
		}
	})
}

// loaded begins the capture anew where the renderer is new after a crash: one that was begun without a renderer, or for the one before, may never give a
// frame of a page that stands still. Chrome drops the first frame if the page has another size than when the capture began, and makes the next one when
// the page changes. over: the document has come to its end. l.mu is held.
func (l *live) loaded(over bool) {
	if tab := l.tab(l.active); tab != nil && tab.reborn {
		tab.reborn = !over
		l.cast.restart(l)
	}
}

// tab is one of the list, nil for none. l.mu is held.
func (l *live) tab(target string) *liveTab {
	if i := slices.IndexFunc(l.tabs, func(t liveTab) bool { return t.ID == target }); i >= 0 {
		return &l.tabs[i]
	}
	return nil
}

// navigated is for the address bar: the list of tabs hears of new addresses by itself.
func (l *live) navigated(params []byte) {
	var p struct {
		FrameID string `json:"frameId"`
		URL     string `json:"url"`
		Frame   struct {
			ID       string `json:"id"`
			ParentID string `json:"parentId"`
			URL      string `json:"url"`
			Fragment string `json:"urlFragment"`
		} `json:"frame"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	address := p.URL
	if p.Frame.ID != "" {
		address, p.FrameID = p.Frame.URL+p.Frame.Fragment, p.Frame.ID
	}
	if p.FrameID != l.active {
		return
	}
	if p.Frame.ID != "" { // another document: what the old one waited for is over
		for id := range l.prompts {
			l.answered(id)
		}
		l.loaded(false) // the document may never end
	}
	l.page.URL = cut(address, maxAddress)
	l.tellAll(l.page)
	l.askHistory()
}

// goTo carries out what the address bar and its buttons ask. l.mu is held.
func (l *live) goTo(do, address string) *denial {
	switch do {
	case "to":
		if checkURL(address) != nil {
			return &denial{"bad_address", "Only http, https and about:blank addresses can be opened."}
		}
		l.ask(l.session, "Page.navigate", map[string]string{"url": address}, nil)
	case "reload":
		l.ask(l.session, "Page.reload", nil, nil)
	case "stop":
		l.ask(l.session, "Page.stopLoading", nil, nil)
	case "back", "forward":
		session, step := l.session, map[string]int{"back": -1, "forward": 1}[do]
		l.ask(session, "Page.getNavigationHistory", nil, func(result json.RawMessage) {
			var h history
			if i := 0; json.Unmarshal(result, &h) == nil {
				if i = h.CurrentIndex + step; i >= 0 && i < len(h.Entries) {
					l.ask(session, "Page.navigateToHistoryEntry", map[string]int{"entryId": h.Entries[i].ID}, nil)
				}
			}
		})
	default:
		return unknownWord("do", do)
	}
	return nil
}

// changeTab shows, opens or closes one. l.mu is held.
func (l *live) changeTab(do, target, address string) *denial {
	switch do {
	case "open":
		if address == "" {
			address = blankPage
		}
		if checkURL(address) != nil {
			return &denial{"bad_address", "Only http, https and about:blank addresses can be opened."}
		}
		l.ask("", "Target.createTarget", map[string]string{"url": blankPage}, func(result json.RawMessage) { l.opened(result, address) })
		return nil
	case "show", "close":
		if !slices.ContainsFunc(l.tabs, func(t liveTab) bool { return t.ID == target }) {
			return &denial{"no_such_tab", "This tab is not there any more."}
		}
		if do == "show" {
			l.show(target, true)
		} else {
			l.ask("", "Target.closeTarget", map[string]string{"targetId": target}, nil)
		}
		return nil
	}
	return unknownWord("do", do)
}

// opened shows a tab that a viewer has opened, and sends it to its address once it is dressed.
func (l *live) opened(result json.RawMessage, address string) {
	var made struct {
		TargetID string `json:"targetId"`
	}
	if json.Unmarshal(result, &made) != nil || made.TargetID == "" {
		return
	}
	go func() {
		l.b.mux.owner.awaitDressed(context.Background(), made.TargetID)
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.viewers) == 0 {
			return
		}
		l.show(made.TargetID, true)
		if address != blankPage && l.active == made.TargetID {
			l.ask(l.session, "Page.navigate", map[string]string{"url": address}, nil)
		}
	}()
}
