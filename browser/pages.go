package browser

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

var errNotShown = errors.New("the tab shows a file, or a page of the browser's own: these are a person's at the browser alone")

func pageError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &PageError{"not_answering", err}
	}
	return &PageError{"refused", err}
}

// PageOf returns the page of a tab, "" for the tab in front. It waits until the page has its overrides. It fails with a *PageError.
func (b *Browser) PageOf(ctx context.Context, tab string) (Page, error) {
	if _, err := b.running(); err != nil {
		return Page{}, &PageError{"no_page", err}
	}
	named := tab != ""
	if !named {
		tab, _ = b.Front()
	}
	if tab == "" {
		return Page{}, &PageError{"no_page", errors.New("no page is open")}
	}
	b.mux.controller.awaitOverrides(ctx, tab)
	if b.mux.isBlocked(tab) {
		return Page{}, &PageError{"no_tab", errNotShown}
	}
	p, ok := b.mux.controller.page(tab)
	if !ok && named {
		return Page{}, &PageError{"no_tab", errors.New("there is no tab of this id")}
	}
	if !ok {
		return Page{}, &PageError{"no_page", errors.New("the page has gone")}
	}
	return p, nil
}

// Page returns an open page by its target, unless clients and viewers must not see it.
func (b *Browser) Page(target string) (Page, bool) {
	p, ok := b.mux.controller.page(target)
	return p, ok && !b.mux.isBlocked(target)
}

// Hides reports whether clients and viewers must not see a target.
func (b *Browser) Hides(t TargetInfo) bool { return b.mux.isHidden(t) }

// HasClient reports whether a client of the gateway is attached to a target.
func (b *Browser) HasClient(target string) bool { return b.mux.hasClient(target) }

// AwaitOverrides waits until a new target has the identity's overrides. It gives up when ctx ends or the target has gone.
func (b *Browser) AwaitOverrides(ctx context.Context, target string) {
	b.mux.controller.awaitOverrides(ctx, target)
}

// CrashedTab returns the tab whose renderer has crashed last; nil: none has. It asks Chrome for the address, until ctx ends.
func (b *Browser) CrashedTab(ctx context.Context) *LargeTab {
	m, err := b.running()
	if err != nil {
		return nil
	}
	target := m.crashed.get()
	if target == "" {
		return nil
	}
	return &LargeTab{Target: target, URL: m.addressOf(ctx, target)}
}

// addressOf asks Chrome for the address of a target (CDP Target.getTargets); "": it does not answer.
func (m *mux) addressOf(ctx context.Context, target string) string {
	var all struct{ TargetInfos []TargetInfo }
	if m.call(ctx, "", "Target.getTargets", nil, &all) != nil {
		return ""
	}
	for _, t := range all.TargetInfos {
		if t.TargetID == target {
			return t.URL
		}
	}
	return ""
}

// LargestTab asks all pages for their heap (CDP Runtime.getHeapUsage, which scripts do not notice) until ctx ends. CDP tells no target's
// process. It returns nil if no page is open, or none answers and there are several.
func (b *Browser) LargestTab(ctx context.Context) *LargeTab {
	m, err := b.running()
	if err != nil {
		return nil
	}
	pages := m.controller.openPages()
	sizes := make([]int64, len(pages))
	soon, cancel := context.WithTimeout(ctx, frontTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for i, p := range pages {
		wg.Go(func() {
			var heap struct{ UsedSize, EmbedderHeapUsedSize, BackingStorageSize float64 }
			sizes[i] = silent
			if m.call(soon, p.Session, "Runtime.getHeapUsage", nil, &heap) == nil {
				sizes[i] = int64(heap.UsedSize + heap.EmbedderHeapUsedSize + heap.BackingStorageSize)
			}
		})
	}
	wg.Wait()
	at := largestOf(sizes)
	if at < 0 {
		return nil
	}
	return &LargeTab{Target: pages[at].Target, URL: m.addressOf(ctx, pages[at].Target), Bytes: max(0, sizes[at])}
}

// Evaluate runs a JavaScript expression on a page, in an isolated world, and decodes its result into value (CDP Runtime.evaluate). Scripts
// of the page neither see nor influence it.
func (b *Browser) Evaluate(ctx context.Context, p Page, expression string, value any) error {
	return b.mux.controller.evaluate(ctx, p, expression, value)
}

// LeaveDialog hands back a dialog that was claimed. It is answered as if there were no subscription.
func (b *Browser) LeaveDialog(e Event) {
	if s := b.mux.session(e.Session); s != nil {
		b.mux.controller.onDialog(s, e.Params)
	}
}

// MayDrop reports whether a viewer may drop on a page what the page itself is dragging. params are those of Input.dragIntercepted (CDP).
// Files and blocked addresses are refused, since Chrome would open them if the page does not accept the drop.
func (b *Browser) MayDrop(params []byte) bool {
	return b.gateway.guard().forClient(false).refusal("Input.dispatchDragEvent", params) == ""
}

// Page is an open page and the controller's session on it.
type Page struct{ Target, Session, URL, context string }

// PageError says why there is no picture of a page. Kind is no_page, no_tab, not_answering, too_large or refused.
type PageError struct {
	Kind string
	Err  error
}

// Error satisfies error.
func (e *PageError) Error() string { return fmt.Sprintf("%s: %v", e.Kind, e.Err) }

// Unwrap returns the cause.
func (e *PageError) Unwrap() error { return e.Err }

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
