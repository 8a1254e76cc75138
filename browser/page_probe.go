package browser

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// pageProbe is what pages of the running browser show.
type pageProbe struct {
	ready chan struct{} // closed when value is set
	once  sync.Once
	value pageValues
}

// set keeps the first value that it is given.
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

// Languages returns navigator.languages of the running browser, nil before Start has returned or when no page would tell. It waits for
// the first look, which Start has begun, a few seconds at most.
func (b *Browser) Languages() []string { return b.probedValues().Languages }

// Timezone returns the time zone of the running browser's pages (Intl), "" when no page would tell. It waits as Languages does.
func (b *Browser) Timezone() string { return b.probedValues().Timezone }

// probedValues waits for the first look of a browser that has been started.
func (b *Browser) probedValues() pageValues {
	if !b.ready() {
		return pageValues{}
	}
	<-b.probe.ready
	return b.probe.value
}

// probePages asks the open pages, and takes the first answer: tabs that were restored in the background are not loaded yet and do not
// answer. When none does, a new page is asked. A stop cuts it short, and waits for it.
func (b *Browser) probePages() {
	defer close(b.probed)
	going, cancel := b.untilStop(context.Background())
	defer cancel()
	found := b.probeOpenPages(going)
	if found == nil {
		found = b.probeNewPage(going)
	}
	b.probe.set(*found)
}

// untilStop is ctx, and ends with a stop too.
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

// probeOpenPages asks the pages that are open, nil when none tells.
func (b *Browser) probeOpenPages(ctx context.Context) *pageValues {
	ctx, cancel := context.WithTimeout(ctx, b.limits.probe)
	defer cancel()
	pages := b.mux.controller.openPages()
	pages = pages[:min(maxProbes, len(pages))]
	answers := make(chan *pageValues, len(pages))
	for _, p := range pages {
		go func() { answers <- b.probePage(ctx, p) }()
	}
	for range pages {
		if found := <-answers; found != nil {
			return found
		}
	}
	return nil
}

// probePage asks one page, nil when it does not tell. It asks behind the owner's own commands: the page is dressed then. A page that goes
// elsewhere, as a restored one does when it loads, loses what it was asked in, and is asked again where it is.
func (b *Browser) probePage(ctx context.Context, p Page) *pageValues {
	select {
	case <-b.mux.controller.stateOf(p.Target).sent:
	case <-ctx.Done():
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

// probeNewPage asks a page that it opens for this. The page has gone when it returns: a browser that ends keeps what is open, and would show
// it at the next start among the user's tabs.
func (b *Browser) probeNewPage(going context.Context) *pageValues {
	none := new(pageValues)
	select {
	case <-b.startDone: // a start that fails ends its browser without waiting for this
	case <-going.Done():
	}
	if going.Err() != nil {
		return none // no wonder that nobody answered
	}
	ctx, cancel := context.WithTimeout(going, b.limits.probeNew)
	defer cancel()
	made := make(chan string, 1)
	b.mux.send("", "Target.createTarget", map[string]any{"url": BlankPage, "background": true}, func(a answer) {
		var page struct {
			TargetID string `json:"targetId"`
		}
		if err := errors.Join(a.err(), json.Unmarshal(a.Result, &page)); err != nil {
			b.log.Debug("no page told languages and time zone", "error", err)
		}
		made <- page.TargetID
	})
	var target string
	select {
	case target = <-made:
	case <-ctx.Done():
		b.probe.set(*none) // who waits has waited long enough; the page may come all the same
		target = <-made    // the answer always comes: the end of the pipe gives it at the latest
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

// closeAndWait closes a page and waits until it has gone. One that stays is left to itself.
func (b *Browser) closeAndWait(target string) {
	late := time.NewTimer(probeTimeout)
	defer late.Stop()
	d := b.mux.controller.stateOf(target)
	defer b.mux.controller.forgetUnattached(target, d)
	b.mux.send("", "Target.closeTarget", map[string]string{"targetId": target}, nil)
	if _, open := b.mux.controller.page(target); !open {
		return
	}
	select {
	case <-d.detached:
	case <-b.done:
	case <-late.C:
	}
}
