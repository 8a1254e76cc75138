package browser

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// pageProbe is what pages of the running browser show.
type pageProbe struct {
	ready chan struct{} // closed when value is set
	once  sync.Once
	value pageValues
}

// set stores the first value; later ones are ignored.
func (i *pageProbe) set(value pageValues) {
	i.once.Do(func() {
		i.value = value
		close(i.ready)
	})
}

type pageValues struct {
	Languages []string `json:"languages"`
	Timezone  string   `json:"timezone"`
}

// Languages returns navigator.languages of the running browser. It returns nil before Start has returned, and if no page has answered. It
// waits a few seconds at most, for the probe that Start has begun.
func (b *Browser) Languages() []string { return b.probedValues().Languages }

// Timezone returns the time zone of the running browser's pages (Intl), "" if no page has answered. It waits as Languages does.
func (b *Browser) Timezone() string { return b.probedValues().Timezone }

// probedValues waits for the probe of a started browser.
func (b *Browser) probedValues() pageValues {
	if !b.ready() {
		return pageValues{}
	}
	<-b.probe.ready
	return b.probe.value
}

// probeFirstPage asks the first page that was attached, as soon as its overrides are sent: its renderer answers while the others are set
// up. It returns that page, and a channel that gets the answer; nil if there is none.
func (b *Browser) probeFirstPage() (Page, <-chan *pageValues) {
	answer := make(chan *pageValues, 1)
	pages := b.mux.controller.openPages()
	if len(pages) == 0 { // it has closed again
		answer <- nil
		return Page{}, answer
	}
	going, cancel := b.untilStop(context.Background())
	ctx, end := context.WithTimeout(going, b.limits.probe)
	go func() {
		defer cancel()
		defer end()
		answer <- b.probePage(ctx, pages[0])
	}()
	return pages[0], answer
}

// probePages asks the open pages and takes the first answer, or that of the first page, which was asked before. Tabs that were restored in
// the background are not loaded and do not answer. If none answers, a new page is asked. Stop cuts the probe short, and waits until its
// page has closed.
func (b *Browser) probePages(asked Page, first <-chan *pageValues) {
	defer close(b.probed)
	going, cancel := b.untilStop(context.Background())
	defer cancel()
	found := b.probeOpenPages(going, asked, first)
	if found == nil {
		found = b.probeNewPage(going)
	}
	b.probe.set(*found)
}

// untilStop returns a context that ends with ctx or with Stop.
func (b *Browser) untilStop(ctx context.Context) (context.Context, context.CancelFunc) {
	going, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-b.stopc:
			cancel()
		case <-going.Done():
		}
	}()
	return going, cancel
}

// probeOpenPages asks the open pages but the one that was asked before, whose answer comes on a channel; nil if none answers.
func (b *Browser) probeOpenPages(ctx context.Context, asked Page, first <-chan *pageValues) *pageValues {
	ctx, cancel := context.WithTimeout(ctx, b.limits.probe)
	defer cancel()
	pages := slices.DeleteFunc(b.mux.controller.openPages(), func(p Page) bool { return p.Target == asked.Target })
	pages = pages[:min(maxProbes-1, len(pages))]
	answers := make(chan *pageValues, len(pages)+1)
	go func() { answers <- <-first }()
	for _, p := range pages {
		go func() { answers <- b.probePage(ctx, p) }()
	}
	for range len(pages) + 1 {
		if found := <-answers; found != nil {
			return found
		}
	}
	return nil
}

// probePage asks one page; nil if it does not answer. It asks after the overrides are sent. A page that navigates meanwhile, as a restored
// one does, is asked again.
func (b *Browser) probePage(ctx context.Context, p Page) *pageValues {
	if _, err := receive(ctx, b.mux.controller.stateOf(p.Target).sent); err != nil {
		return nil
	}
	const expression = `({languages: [...navigator.languages].slice(0, 20), timezone: Intl.DateTimeFormat().resolvedOptions().timeZone})`
	for range probeAttempts {
		found := new(pageValues)
		err := b.mux.controller.evaluate(ctx, p, expression, found)
		if err == nil {
			return found
		}
		if _, refused := errors.AsType[*ProtocolError](err); !refused {
			return nil
		}
	}
	return nil
}

// probeNewPage opens a page and asks it. The page has closed when probeNewPage returns, since Chrome would restore it among the user's
// tabs.
func (b *Browser) probeNewPage(going context.Context) *pageValues {
	none := new(pageValues)
	select {
	case <-b.startDone: // a failing start does not wait for the probe
	case <-going.Done():
	}
	if going.Err() != nil {
		return none // the browser is ending
	}
	ctx, cancel := context.WithTimeout(going, b.limits.probeNew)
	defer cancel()
	made := make(chan string, 1)
	b.mux.send("", "Target.createTarget", map[string]any{"url": BlankPage, "background": true}, func(a answer) {
		page, err := a.reference()
		if err != nil {
			b.log.Debug("no page told languages and time zone", "error", err)
		}
		made <- page.TargetID
	})
	var target string
	select {
	case target = <-made:
	case <-ctx.Done():
		b.probe.set(*none) // waiting callers have waited long enough; the page may still open
		target = <-made    // the answer always comes: at the latest at the end of the pipe
	}
	if target == "" {
		return none
	}
	defer b.closeAndWait(target)
	if p, ok := b.mux.controller.page(target); ok {
		if found := b.probePage(ctx, p); found != nil {
			return found
		}
	}
	return none
}

// closeAndWait closes a page and waits until it has gone, for probeTimeout at most.
func (b *Browser) closeAndWait(target string) {
	state := b.mux.controller.stateOf(target)
	defer b.mux.controller.forgetUnattached(target, state)
	b.mux.send("", "Target.closeTarget", map[string]string{"targetId": target}, nil)
	if _, open := b.mux.controller.page(target); !open {
		return
	}
	select {
	case <-state.detached:
	case <-b.done:
	case <-time.After(probeTimeout):
	}
}
