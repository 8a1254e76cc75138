package browser

import (
	"cmp"
	"context"
)

// Redress changes what open and new pages are told of time zone and position while the browser runs (Emulation.setTimezoneOverride,
// setGeolocationOverride, Browser.setPermission). A zone that is "" leaves it as it is. The rest of the identity is the process' own and waits for the
// next start. It returns when every page has it, or when ctx ends: a page that hangs gets it before it does anything else. It fails only before the start.
func (b *Browser) Redress(ctx context.Context, id Identity) error {
	m, err := b.running()
	if err != nil {
		return err
	}
	b.emulation.change(id)
	m.owner.dresses.Store(true)
	m.owner.repermit()
	var all []<-chan struct{}
	for _, s := range m.owned("") {
		all = append(all, m.owner.give(s, b.emulation.changeOrders(s.kind)))
	}
	for _, answered := range all {
		select {
		case <-answered:
		case <-ctx.Done():
			return nil
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
	e.now.Timezone, e.now.Geolocation = cmp.Or(id.Timezone, e.now.Timezone), id.Geolocation
}

// changeOrders are what a target that runs already gets after a change.
func (e *emulation) changeOrders(kind string) []order {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !hasNavigator(kind) {
		return nil
	}
	orders := e.zoneOrder()
	if kind == "page" && e.positioned {
		orders = append(orders, e.positionOrder())
	}
	return orders
}
