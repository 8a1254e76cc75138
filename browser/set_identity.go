package browser

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// identityTimeout is how long Redress waits for pages to say that they have it. One that hangs gets it before it does anything else.
const identityTimeout = time.Second

// SetIdentity changes what open and new pages are told of time zone, position and languages while the browser runs (Emulation.setTimezoneOverride,
// setGeolocationOverride, Browser.setPermission; languages.go). A zone that is "" and languages that are nil leave these as they are. The rest of the
// identity is the process' own and waits for the next start. It returns when every page has it, or has had time for it. told are the languages that
// pages have now, nil for the host's; a *LanguagesError says why they are not those of id, and any other error that nothing has changed.
func (b *Browser) SetIdentity(ctx context.Context, id Identity) (told []string, err error) {
	m, err := b.running()
	if err == nil {
		err = id.check()
	}
	if err != nil {
		return nil, err
	}
	b.identityMu.Lock()
	defer b.identityMu.Unlock()
	b.emulation.setTimezoneAndPosition(id)
	m.controller.overriding.Store(true)
	m.controller.permitAll()
	wait := b.overrideAll(ctx, false)
	if told = b.emulation.languages(); len(id.Languages) > 0 && !slices.Equal(told, id.Languages) {
		if why := b.selectLanguages(ctx, id.Languages); why != nil {
			err = &LanguagesError{why}
		} else {
			told = id.Languages
			b.emulation.setLanguages(told)
			wait = b.overrideAll(ctx, true)
		}
	}
	timer := time.NewTimer(identityTimeout)
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

// overrideAll gives every target that runs what has changed, and the clients' sessions what they need of it, and returns what is closed when they have it.
func (b *Browser) overrideAll(ctx context.Context, languages bool) (all []<-chan struct{}) {
	o := b.mux.controller
	for _, s := range o.mux.controllerSessions("") {
		o.mu.Lock()
		d := o.targets[s.target]
		o.mu.Unlock()
		if d == nil { // it has gone, or will be dressed in what is now
			continue
		}
		select { // not before what it was dressed in
		case <-d.sent:
		case <-d.detached:
		case <-ctx.Done():
		}
		all = append(all, o.sendOverrides(s, b.emulation.changeOverrides(s.kind, languages)))
	}
	if !languages {
		return all
	}
	for _, s := range o.mux.clientSessions() {
		all = append(all, o.overrideSession(s))
	}
	o.reapplyShared() // a round that is under way may have what was before
	return all
}

// permitAll gives every browser context the permission that goes with the position.
func (o *controller) permitAll() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for context := range o.permitted {
		o.permit(context)
	}
}
