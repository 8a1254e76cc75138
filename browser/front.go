package browser

import (
	"context"
	"slices"
	"sync"
	"time"
)

// frontTimeout bounds the query of all pages' visibility. Restored pages that are not loaded yet do not answer.
const frontTimeout = 500 * time.Millisecond

// Front returns the target of the page in front, "" if no page is open. It asks every page for its visibility (Page Visibility, W3C) and
// takes at most 500 ms. With several windows several pages are visible: the one that a Subscription shows wins, then the oldest. visible is
// false if no page says that it is visible; then the page that is shown counts, or the newest.
func (b *Browser) Front() (target string, visible bool) {
	ctx, cancel := context.WithTimeout(context.Background(), frontTimeout)
	defer cancel()
	m := b.mux
	pages := slices.DeleteFunc(m.controller.openPages(), func(p Page) bool { return m.isBlocked(p.Target) })
	seen := make([]bool, len(pages))
	var wg sync.WaitGroup
	for i, p := range pages {
		wg.Go(func() {
			var state string
			seen[i] = m.controller.evaluate(ctx, p, "document.visibilityState", &state) == nil && state == "visible"
		})
	}
	wg.Wait()
	shown := m.shownPage()
	first, known := "", false
	for i, p := range pages {
		switch {
		case seen[i] && p.Target == shown:
			return shown, true
		case seen[i] && first == "":
			first = p.Target
		}
		known = known || p.Target == shown
	}
	switch {
	case first != "":
		return first, true
	case known:
		return shown, false
	case len(pages) > 0:
		return pages[len(pages)-1].Target, false
	}
	return "", false
}

// shownPage returns the page that a subscription shows, "" for none.
func (m *mux) shownPage() string {
	for _, s := range m.subscribed() {
		if target, _ := s.showing(); target != "" {
			return target
		}
	}
	return ""
}
