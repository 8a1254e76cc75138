package browser

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// identityTimeout is how long SetIdentity waits for the pages' acknowledgements. A page that hangs applies the change before it continues.
const identityTimeout = time.Second

// SetIdentity changes time zone, position and languages of open and new pages while the browser runs (CDP Emulation.setTimezoneOverride,
// setGeolocationOverride, Browser.setPermission; settings_page.go). An empty zone and nil languages mean no change. The rest of the
// identity waits for the next start.
//
// SetIdentity returns when every page has acknowledged the change or has had time to. told are the languages that pages have now, nil for
// the host's. A *LanguagesError says why they are not those of id. After any other error nothing has changed.
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
	late := time.After(identityTimeout)
	for _, answered := range wait {
		select {
		case <-answered:
		case <-late:
			return told, err
		case <-ctx.Done():
			return told, err
		}
	}
	return told, err
}

// LanguagesError says why a running browser has kept its languages. The rest of the identity has changed.
type LanguagesError struct{ Err error }

// Error satisfies error.
func (e *LanguagesError) Error() string {
	return fmt.Sprintf("the browser keeps its languages: %v", e.Err)
}

// Unwrap returns the cause.
func (e *LanguagesError) Unwrap() error { return e.Err }

// overrideAll sends the changed overrides to every target, and to clients' sessions where necessary. Each returned channel is closed when a
// target has acknowledged them.
func (b *Browser) overrideAll(ctx context.Context, languages bool) (all []<-chan struct{}) {
	ctl := b.mux.controller
	for _, s := range ctl.mux.controllerSessions("") {
		ctl.mu.Lock()
		state := ctl.targets[s.target]
		ctl.mu.Unlock()
		if state == nil { // it has gone, or will get the new overrides
			continue
		}
		select { // the new overrides must follow the first ones
		case <-state.sent:
		case <-state.detached:
		case <-ctx.Done():
		}
		all = append(all, ctl.sendOverrides(s, b.emulation.changeOverrides(s.kind, languages)))
	}
	if !languages {
		return all
	}
	for _, s := range ctl.mux.clientSessions() {
		all = append(all, ctl.overrideSession(s))
	}
	ctl.reapplyShared() // a run under way may send the old ones
	return all
}

// permitAll sends the geolocation permission of every browser context.
func (ctl *controller) permitAll() {
	ctl.mu.Lock()
	defer ctl.mu.Unlock()
	for context := range ctl.permitted {
		ctl.permit(context)
	}
}
