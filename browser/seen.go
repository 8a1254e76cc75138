package browser

import (
	"context"
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

const (
	lookTimeout = 2 * time.Second // for the open pages, and once more for a new one
	lookPages   = 8               // how many of the open pages are asked
)

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
// answer. When none does, a new page is asked.
func (b *Browser) look() {
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	pages := b.mux.owner.openPages()
	pages = pages[:min(lookPages, len(pages))]
	answers := make(chan *pageValues, len(pages))
	for _, p := range pages {
		go func() { answers <- b.lookAt(ctx, p) }()
	}
	for range pages {
		if found := <-answers; found != nil {
			b.seen.set(*found)
			return
		}
	}
	b.seen.set(b.lookAtNew())
}

// lookAt asks one page, nil when it does not tell. It asks behind the owner's own commands: the page is dressed then.
func (b *Browser) lookAt(ctx context.Context, p page) *pageValues {
	select {
	case <-b.mux.owner.dressing(p.target).sent:
	case <-ctx.Done():
		return nil
	}
	const expression = `({languages: [...navigator.languages].slice(0, 20), timezone: Intl.DateTimeFormat().resolvedOptions().timeZone})`
	found := new(pageValues)
	if err := b.mux.owner.evaluate(ctx, p, expression, found); err != nil {
		return nil
	}
	return found
}

// lookAtNew asks a page that it opens for this and closes.
func (b *Browser) lookAtNew() (none pageValues) {
	select {
	case <-b.halt:
		return none // no wonder that nobody answered
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	var made struct {
		TargetID string `json:"targetId"`
	}
	if err := b.mux.call(ctx, "", "Target.createTarget", map[string]any{"url": blankPage, "background": true}, &made); err != nil {
		b.log.Debug("no page told languages and time zone", "error", err)
		return none
	}
	defer b.mux.send("", "Target.closeTarget", made, nil)
	if p, ok := b.mux.owner.page(made.TargetID); ok {
		if found := b.lookAt(ctx, p); found != nil {
			return *found
		}
	}
	return none
}
