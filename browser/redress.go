package browser

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// redressTime is how long Redress waits for pages to say that they have it. One that hangs gets it before it does anything else.
const redressTime = time.Second

// Redress changes what open and new pages are told of time zone, position and languages while the browser runs (Emulation.setTimezoneOverride,
// setGeolocationOverride, Browser.setPermission; languages.go). A zone that is "" and languages that are nil leave these as they are. The rest of the
// identity is the process' own and waits for the next start. It returns when every page has it, or has had time for it. told are the languages that
// pages have now, nil for the host's; a *LanguagesError says why they are not those of id, and any other error that nothing has changed.
func (b *Browser) Redress(ctx context.Context, id Identity) (told []string, err error) {
	m, err := b.running()
	if err == nil {
		err = id.check()
	}
	if err != nil {
		return nil, err
	}
	b.changing.Lock()
	defer b.changing.Unlock()
	b.emulation.change(id)
	m.owner.dresses.Store(true)
	m.owner.repermit()
	wait := b.redressAll(ctx, false)
	if told = b.emulation.languages(); len(id.Languages) > 0 && !slices.Equal(told, id.Languages) {
		if why := b.selectLanguages(ctx, id.Languages); why != nil {
			err = &LanguagesError{why}
		} else {
			told = id.Languages
			b.emulation.speak(told)
			wait = b.redressAll(ctx, true)
		}
	}
	timer := time.NewTimer(redressTime)
	defer timer.Stop()
	for _, answered := range wait {
		select {
		case <-answered:
		case <-timer.C:
			return told, err
		case <-ctx.Done():
			return told, err
		}
	}
	return told, err
}

// LanguagesError says why a browser that runs has kept its languages. The rest was changed.
type LanguagesError struct{ Err error }

func (e *LanguagesError) Error() string {
	return fmt.Sprintf("the browser keeps its languages: %v", e.Err)
}

func (e *LanguagesError) Unwrap() error { return e.Err }

// redressAll gives every target that runs what has changed, and the clients' sessions what they need of it, and returns what is closed when they have it.
func (b *Browser) redressAll(ctx context.Context, languages bool) (all []<-chan struct{}) {
	o := b.mux.owner
	for _, s := range o.mux.owned("") {
		o.mu.Lock()
		d := o.targets[s.target]
		o.mu.Unlock()
		if d == nil { // it has gone, or will be dressed in what is now
			continue
		}
		select { // not before what it was dressed in
		case <-d.sent:
		case <-d.gone:
		case <-ctx.Done():
		}
		all = append(all, o.give(s, b.emulation.changeOrders(s.kind, languages)))
	}
	if !languages {
		return all
	}
	for _, s := range o.mux.ofClients() {
		all = append(all, o.dressClient(s))
	}
	o.renew() // a round that is under way may have what was before
	return all
}

// repermit gives every browser context the permission that goes with the position.
func (o *owner) repermit() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for context := range o.contexts {
		o.permit(context)
	}
}
