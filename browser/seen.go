package browser

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// seen is what pages of the running browser show.
type seen struct {
	ready chan struct{} // closed when value is set
	once  sync.Once
	value pageValues
}

// set keeps the first value that it is given.
func (i *seen) set(value pageValues) {
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
func (b *Browser) Languages() []string { return b.values().Languages }

// Timezone returns the time zone of the running browser's pages (Intl), "" when no page would tell. It waits as Languages does.
func (b *Browser) Timezone() string { return b.values().Timezone }

// values waits for the first look of a browser that has been started.
func (b *Browser) values() pageValues {
	if !b.ready() {
		return pageValues{}
	}
	<-b.seen.ready
	return b.seen.value
}

// look asks the open pages, and takes the first answer: tabs that were restored in the background are not loaded yet and do not
// answer. When none does, a new page is asked. A stop cuts it short, and waits for it.
func (b *Browser) look() {
	defer close(b.looked)
	going, cancel := b.untilStop(context.Background())
	defer cancel()
	found := b.lookAtOpen(going)
	if found == nil {
		found = b.lookAtNew(going)
	}
	b.seen.set(*found)
}

// untilStop is ctx, and ends with a stop too.
func (b *Browser) untilStop(ctx context.Context) (context.Context, context.CancelFunc) {
	going, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-b.halt:
			cancel()
		case <-going.Done():
		}
	}()
	return going, cancel
}

// lookAtOpen asks the pages that are open, nil when none tells.
func (b *Browser) lookAtOpen(ctx context.Context) *pageValues {
	ctx, cancel := context.WithTimeout(ctx, b.limits.look)
	defer cancel()
	pages := b.mux.owner.openPages()
	pages = pages[:min(lookPages, len(pages))]
	answers := make(chan *pageValues, len(pages))
	for _, p := range pages {
		go func() { answers <- b.lookAt(ctx, p) }()
	}
	for range pages {
		if found := <-answers; found != nil {
			return found
		}
	}
	return nil
}

// lookAt asks one page, nil when it does not tell. It asks behind the owner's own commands: the page is dressed then. A page that goes
// elsewhere, as a restored one does when it loads, loses what it was asked in, and is asked again where it is.
func (b *Browser) lookAt(ctx context.Context, p Page) *pageValues {
	select {
	case <-b.mux.owner.dressing(p.Target).sent:
	case <-ctx.Done():
		return nil
	}
	const expression = `({languages: [...navigator.languages].slice(0, 20), timezone: Intl.DateTimeFormat().resolvedOptions().timeZone})`
	for range lookTries {
		found := new(pageValues)
		err := b.mux.owner.evaluate(ctx, p, expression, found)
		if err == nil {
			return found
		}
		if _, refused := errors.AsType[*ProtocolError](err); !refused {
			return nil
		}
	}
	return nil
}

// lookAtNew asks a page that it opens for this. The page has gone when it returns: a browser that ends keeps what is open, and would show
// it at the next start among the user's tabs.
func (b *Browser) lookAtNew(going context.Context) *pageValues {
	none := new(pageValues)
	select {
	case <-b.settled: // a start that fails ends its browser without waiting for this
	case <-going.Done():
	}
	if going.Err() != nil {
		return none // no wonder that nobody answered
	}
	ctx, cancel := context.WithTimeout(going, b.limits.lookNew)
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
		b.seen.set(*none) // who waits has waited long enough; the page may come all the same
		target = <-made   // the answer always comes: the end of the pipe gives it at the latest
	}
	if target == "" {
		return none
	}
	defer b.closeAndWait(target)
	if p, ok := b.mux.owner.page(target); ok {
		if found := b.lookAt(ctx, p); found != nil {
			return found
		}
	}
	return none
}

// closeAndWait closes a page and waits until it has gone. One that stays is left to itself.
func (b *Browser) closeAndWait(target string) {
	late := time.NewTimer(lookTimeout)
	defer late.Stop()
	d := b.mux.owner.dressing(target)
	defer b.mux.owner.unseen(target, d)
	b.mux.send("", "Target.closeTarget", map[string]string{"targetId": target}, nil)
	if _, open := b.mux.owner.page(target); !open {
		return
	}
	select {
	case <-d.gone:
	case <-b.done:
	case <-late.C:
	}
}
