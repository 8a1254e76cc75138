package live

import (
	"encoding/json"
	"time"

	"warren/browser"
)

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
