package browser

import (
	"context"
	"time"
)

// identity is what pages of the running browser see of the host.
type identity struct {
	ready chan struct{} // closed when the rest is set
	value pageIdentity
}

type pageIdentity struct {
	Languages []string `json:"languages"`
	Timezone  string   `json:"timezone"`
}

// lookTimeout is how long one page gets to say what it sees.
const lookTimeout = 2 * time.Second

// Languages returns navigator.languages of the running browser, nil when no page would tell. It waits for the first look, which Start
// has begun, a few seconds at most.
func (b *Browser) Languages() []string { return b.identity().Languages }

// Timezone returns the time zone of the running browser's pages (Intl), "" when no page would tell. It waits as Languages does.
func (b *Browser) Timezone() string { return b.identity().Timezone }

func (b *Browser) identity() pageIdentity {
	select {
	case <-b.seen.ready:
	case <-b.done:
		return pageIdentity{}
	}
	return b.seen.value
}

// look asks a page for the identity: one that is open, else, when none of the first two answers, a new one.
func (b *Browser) look() {
	defer close(b.seen.ready)
	pages := b.mux.owner.openPages()
	for _, p := range pages[:min(2, len(pages))] {
		if b.lookAt(p) == nil {
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	var made struct {
		TargetID string `json:"targetId"`
	}
	params := map[string]any{"url": blankPage, "background": true}
	if err := b.mux.call(ctx, "", "Target.createTarget", params, &made); err != nil {
		b.log.Warn("no page told languages and time zone", "error", err)
		return
	}
	defer b.mux.send("", "Target.closeTarget", made, nil)
	if p, ok := b.mux.owner.page(made.TargetID); ok {
		_ = b.lookAt(p)
	}
}

// lookAt asks one page. The expression runs in a world of its own, where the page's scripts cannot lie to us.
func (b *Browser) lookAt(p page) error {
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	const expression = `({languages: [...navigator.languages].slice(0, 20), timezone: Intl.DateTimeFormat().resolvedOptions().timeZone})`
	return b.mux.owner.evaluate(ctx, p, expression, &b.seen.value)
}
