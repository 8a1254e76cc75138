package live

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"warren/browser"
)

// tab is a page in the viewers' list of tabs.
type tab struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	URL     string `json:"url"`
	Crashed bool   `json:"crashed"`

	reloading bool // its renderer is new after a crash, and viewers have seen no complete document of it yet
}

type tabsMessage struct {
	Type   string `json:"type"`
	Active string `json:"active"`
	Tabs   []tab  `json:"tabs"`
}

func (l *View) tabsMessage() tabsMessage { return tabsMessage{"tabs", l.active, l.tabs} }

// onBrowserEvent handles an event of the browser itself. l.mu is held.
func (l *View) onBrowserEvent(method string, params []byte) {
	switch method {
	case "Target.targetCreated", "Target.targetInfoChanged", "Target.targetDestroyed", "Target.targetCrashed":
		l.onTabEvent(method, params)
	case "Browser.downloadWillBegin", "Browser.downloadProgress":
		l.onDownloadEvent(method, params)
	}
}

// onTabEvent updates the list of tabs. l.mu is held.
func (l *View) onTabEvent(method string, params []byte) {
	var p struct {
		TargetInfo browser.TargetInfo `json:"targetInfo"`
		TargetID   string             `json:"targetId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	p.TargetID = cmp.Or(p.TargetID, p.TargetInfo.TargetID)
	known := l.tab(p.TargetID)
	switch method {
	case "Target.targetDestroyed":
		if known != nil {
			l.removeTab(p.TargetID)
		}
		return
	case "Target.targetCrashed":
		if known == nil {
			return
		}
		known.Crashed = true
		if p.TargetID == l.active {
			l.page.Loading = false
			l.broadcast(l.page)
		}
		l.broadcast(l.tabsMessage())
		return
	}
	switch {
	case p.TargetInfo.Type != "page":
		return
	case l.chrome.Hides(p.TargetInfo):
		l.dropTab(p.TargetID)
		return
	case known == nil:
		l.tabs = append(l.tabs, tabOf(p.TargetInfo))
	case !l.updateTab(known, p.TargetInfo):
		return
	}
	l.broadcast(l.tabsMessage())
	if method == "Target.targetCreated" && l.active == "" {
		l.followFront()
	}
}

// removeTab removes a closed tab from the list. The view then shows the tab in front. l.mu is held.
func (l *View) removeTab(target string) {
	if target == l.active {
		l.capture.reset()
		l.forgetPage()
		l.followFront()
	}
	l.dropTab(target)
}

// dropTab removes a tab from the list, if it is there. l.mu is held.
func (l *View) dropTab(target string) {
	if l.tab(target) != nil {
		l.tabs = slices.DeleteFunc(l.tabs, func(t tab) bool { return t.ID == target })
		l.broadcast(l.tabsMessage())
	}
}

// onBlocked stops showing a tab that is on its way to an address closed to viewers.
func (l *View) onBlocked(target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dropTab(target); l.active == target && l.session != "" {
		l.release()
		l.followFront()
	}
}

func tabOf(t browser.TargetInfo) tab {
	return tab{ID: t.TargetID, Title: truncate(t.Title, maxTitle), URL: truncate(t.URL, maxAddress)}
}

// tab returns a tab of the list, nil for none. l.mu is held.
func (l *View) tab(target string) *tab {
	if i := slices.IndexFunc(l.tabs, func(t tab) bool { return t.ID == target }); i >= 0 {
		return &l.tabs[i]
	}
	return nil
}

// updateTab sets a tab's title and address, and reports whether they have changed. l.mu is held.
func (l *View) updateTab(t *tab, info browser.TargetInfo) bool {
	now := tabOf(info)
	if t.Title == now.Title && t.URL == now.URL {
		return false
	}
	t.Title, t.URL = now.Title, now.URL
	if t.ID == l.active {
		l.page.URL, l.page.Title = now.URL, now.Title
		l.broadcast(l.page)
		l.queryHistory()
	}
	return true
}

// titlePeriod is the time between two queries of the tabs' titles. Chrome announces every new address, but not every new title.
const titlePeriod = 2 * time.Second

// pollTitles queries titles until ended is closed.
func (l *View) pollTitles(ended <-chan struct{}) {
	tick := time.NewTicker(titlePeriod)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-l.chrome.Done():
			return
		case <-tick.C:
			l.mu.Lock()
			if l.people() > 0 { // tiles show no titles
				l.queryTitles()
			}
			l.mu.Unlock()
		}
	}
}

// queryTitles asks Chrome for the titles of all tabs (CDP Target.getTargets). l.mu is held.
func (l *View) queryTitles() {
	l.command("", "Target.getTargets", nil, func(result json.RawMessage) {
		var got struct {
			TargetInfos []browser.TargetInfo `json:"targetInfos"`
		}
		if json.Unmarshal(result, &got) != nil {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		changed := false
		for _, info := range got.TargetInfos {
			if t := l.tab(info.TargetID); t != nil && !l.chrome.Hides(info) {
				changed = l.updateTab(t, info) || changed
			}
		}
		if changed {
			l.broadcast(l.tabsMessage())
		}
	})
}

// changeTab shows, opens or closes a tab. l.mu is held.
func (l *View) changeTab(do, target, address string) *refusal {
	switch do {
	case "open":
		address = cmp.Or(address, browser.BlankPage)
		if browser.CheckURL(address) != nil {
			return badAddress()
		}
		l.command("", "Target.createTarget", map[string]string{"url": browser.BlankPage},
			func(result json.RawMessage) { l.onTabOpened(result, address) })
		return nil
	case "show", "close":
		if l.tab(target) == nil {
			return &refusal{"no_such_tab", "This tab is not there any more."}
		}
		if do == "show" {
			l.show(target, true)
		} else {
			l.command("", "Target.closeTarget", map[string]string{"targetId": target}, nil)
		}
		return nil
	}
	return unknownWord("do", do)
}

// onTabOpened shows a tab that a viewer has opened. It navigates the tab once it has the identity's overrides.
func (l *View) onTabOpened(result json.RawMessage, address string) {
	var made struct {
		TargetID string `json:"targetId"`
	}
	if json.Unmarshal(result, &made) != nil || made.TargetID == "" {
		return
	}
	go func() {
		l.chrome.AwaitOverrides(context.Background(), made.TargetID)
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.viewers) == 0 {
			return
		}
		l.show(made.TargetID, true)
		if address != browser.BlankPage && l.active == made.TargetID {
			l.command(l.session, "Page.navigate", map[string]string{"url": address}, nil)
		}
	}()
}
