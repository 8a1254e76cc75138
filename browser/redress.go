package browser

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// errHostZone is why a time zone cannot be given back to the host's while the browser runs.
var errHostZone = errors.New("the host's time zone has no name that can be found; it holds from the next start on")

// Redress changes what open and new pages are told of time zone and position while the browser runs (Emulation.setTimezoneOverride,
// setGeolocationOverride). The rest of the identity is the process' own and waits for the next start. It returns when every page has it, or fails
// with ctx's error; then those that have not get it as soon as they answer.
func (b *Browser) Redress(ctx context.Context, id Identity) error {
	m, err := b.running()
	if err != nil {
		return err
	}
	if id.Timezone == "" && b.emulation.base.Timezone != "" {
		if id.Timezone = hostTimezone(); id.Timezone == "" {
			return errHostZone
		}
	}
	b.emulation.change(id)
	m.owner.dresses.Store(true)
	m.owner.repermit()
	for _, s := range m.owned("") {
		answered := m.owner.give(s, b.emulation.changeOrders(s.kind))
		select {
		case <-answered:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// repermit gives every browser context the permission that goes with the position.
func (o *owner) repermit() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for context := range o.contexts {
		o.emulation.permit(o.mux, context)
	}
}

// change takes over what can change while the browser runs.
func (e *emulation) change(id Identity) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.positioned = e.positioned || e.now.Geolocation != nil || id.Geolocation != nil
	e.now.Timezone, e.now.Geolocation = id.Timezone, id.Geolocation
}

// changeOrders are what a target that runs already gets after a change.
func (e *emulation) changeOrders(kind string) []order {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !hasNavigator(kind) {
		return nil
	}
	orders := []order{{"Emulation.setTimezoneOverride", map[string]string{"timezoneId": e.now.Timezone}}}
	if kind == "page" && e.positioned {
		orders = append(orders, e.positionOrder())
	}
	return orders
}

// hostTimezone is the name of this machine's zone as far as it can be found without guessing, else "": TZ, or where /etc/localtime leads (localtime(5)).
func hostTimezone() string {
	name := os.Getenv("TZ")
	if name == "" {
		to, err := filepath.EvalSymlinks("/etc/localtime")
		if err != nil {
			return ""
		}
		_, name, _ = strings.Cut(to, "zoneinfo/")
	}
	if _, err := time.LoadLocation(name); err != nil {
		return ""
	}
	return name
}
