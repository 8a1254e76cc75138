package browser

import (
	"encoding/json"
	"time"
)

// This file asks Chrome where a page stands in its history.

// history is what Page.getNavigationHistory answers.
type history struct {
	CurrentIndex int `json:"currentIndex"`
	Entries      []struct {
		ID  int    `json:"id"`
		URL string `json:"url"`
	} `json:"entries"`
}

// historyPause is the least time between two questions for a page's history. A page can bring about many of them, and each answer has up to 50 addresses
// of 2 MiB: what takes longer to answer has to wait longer too.
const historyPause = 250 * time.Millisecond

// historyQuestion is the question that is under way. live.mu guards it.
type historyQuestion struct {
	busy bool
	due  bool // another one, when the pause after this one is over
}

// askHistory finds out whether the page can go back and forth. l.mu is held.
func (l *live) askHistory() {
	switch {
	case l.session == "":
		return
	case l.history.busy:
		l.history.due = true
		return
	}
	l.history.busy = true
	target, asked := l.active, time.Now()
	l.b.mux.send(l.session, "Page.getNavigationHistory", nil, func(a answer) {
		go func() { // neither the reading goroutine nor who asked, with l.mu, waits until a long answer is read
			l.learnHistory(target, a)
			time.AfterFunc(max(historyPause, 2*time.Since(asked)), l.historyDue)
		}()
	})
}

// learnHistory takes the answer over where it is news.
func (l *live) learnHistory(target string, a answer) {
	var h struct {
		CurrentIndex int        `json:"currentIndex"`
		Entries      []struct{} `json:"entries"` // how many there are is all that counts here
	}
	if err := a.err(); err != nil || json.Unmarshal(a.Result, &h) != nil {
		l.b.log.Debug("a page did not tell its history", "error", err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	back, forward := h.CurrentIndex > 0, h.CurrentIndex < len(h.Entries)-1
	if l.active == target && (back != l.page.CanGoBack || forward != l.page.CanGoForward) {
		l.page.CanGoBack, l.page.CanGoForward = back, forward
		l.tellAll(l.page)
	}
}

// historyDue ends the pause.
func (l *live) historyDue() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.history.busy = false
	if l.history.due {
		l.history.due = false
		l.askHistory()
	}
}
