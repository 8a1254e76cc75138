package browser

import (
	"context"
	"slices"
	"time"
)

// shouldClose says whether the owner closes a page at an address: without windows there is nobody who could want it, and of a file that a client dropped
// nobody has asked for the page.
func (o *controller) shouldClose(address string) bool {
	return o.mux.blocked.extensions.isBlocked(address) && (!o.emulation.headful || o.filesDropped.Load() && isFile(address))
}

// closeIfBlocked has a page closed that came to a closed address. While the browser starts that is handshake's.
func (o *controller) closeIfBlocked(target, address string) {
	if !o.closeBlocked.Load() || !o.shouldClose(address) || o.mux.isSettingsPage(target) {
		return
	}
	go func() {
		o.awaitSent(target) // one that waits for its debugger does not close
		if _, isPage := o.page(target); !isPage {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
		defer cancel()
		if err := o.closePages(ctx, []string{target}, o.closePage); err != nil {
			o.mux.log.Warn("a page of the browser's own, or of a file, was not closed", "error", err)
		}
	}()
}

// awaitSent waits until the owner has let a target go; when it is never attached, until patience ends.
func (o *controller) awaitSent(target string) {
	timer := time.NewTimer(attachTimeout)
	defer timer.Stop()
	d := o.stateOf(target)
	select {
	case <-d.sent:
	case <-d.done:
	case <-timer.C:
	case <-o.mux.in.done: // the browser has gone
	}
	o.forgetUnattached(target, d)
}

// closePage closes a page that may still wait for a client's session: Chrome says yes to that, and does it not always.
func (o *controller) closePage(target string) {
	d := o.stateOf(target)
	defer o.forgetUnattached(target, d)
	for range closeAttempts {
		if _, open := o.page(target); !open {
			return
		}
		o.mux.send("", "Target.closeTarget", map[string]string{"targetId": target}, nil)
		timer := time.NewTimer(time.Second)
		select {
		case <-d.detached:
		case <-timer.C:
		case <-o.mux.in.done: // with the browser
			return
		}
	}
}

// closeAttempts is how often a page is closed that stays.
const closeAttempts = 10

// closeBlockedPages closes the pages that are at a closed address where there is nobody who could want them, and the settings' page where a browser that died
// has left it among its tabs.
func (o *controller) closeBlockedPages(ctx context.Context, shut func(target string)) error {
	targets, err := o.mux.targets(ctx)
	if err != nil {
		return err
	}
	var left []string
	for _, t := range targets {
		if t.Type == "page" && !o.mux.isSettingsPage(t.TargetID) && (t.URL == settingsURL || o.shouldClose(t.URL)) {
			left = append(left, t.TargetID)
		}
	}
	return o.closePages(ctx, left, shut)
}

// closePages closes pages. A browser with nothing else gets a blank tab first: with its last one it would go.
func (o *controller) closePages(ctx context.Context, all []string, shut func(target string)) (err error) {
	o.closeMu.Lock()
	stays := func(p Page) bool { return !slices.Contains(all, p.Target) && !o.mux.isBlocked(p.Target) }
	if len(all) > 0 && !slices.ContainsFunc(o.openPages(), stays) {
		err = o.mux.call(ctx, "", "Target.createTarget", map[string]string{"url": BlankPage}, nil)
	}
	o.closeMu.Unlock()
	if err != nil {
		return err
	}
	for _, target := range all {
		o.mux.log.Warn("a page of the browser's own, or of a file, is closed", "target", target)
		shut(target)
	}
	return nil
}
