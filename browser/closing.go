package browser

import (
	"context"
	"slices"
	"time"
)

// closes says whether the owner closes a page at an address: without windows there is nobody who could want it, and of a file that a client dropped
// nobody has asked for the page.
func (o *owner) closes(address string) bool {
	return o.mux.shut.installed.isClosed(address) && (!o.emulation.headful || o.dropped.Load() && isFile(address))
}

// mayClose has a page closed that came to a closed address. While the browser starts that is handshake's.
func (o *owner) mayClose(target, address string) {
	if !o.closing.Load() || !o.closes(address) || o.mux.isPrivate(target) {
		return
	}
	go func() {
		o.awaitSent(target) // one that waits for its debugger does not close
		if _, isPage := o.page(target); !isPage {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
		defer cancel()
		if err := o.closePages(ctx, []string{target}, o.closeTarget); err != nil {
			o.mux.log.Warn("a page of the browser's own, or of a file, was not closed", "error", err)
		}
	}()
}

// awaitSent waits until the owner has let a target go; when it is never attached, until patience ends.
func (o *owner) awaitSent(target string) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	d := o.dressing(target)
	select {
	case <-d.sent:
	case <-d.done:
	case <-timer.C:
	case <-o.mux.in.done: // the browser has gone
	}
	o.unseen(target, d)
}

// closeTarget closes a page that may still wait for a client's session: Chrome says yes to that, and does it not always.
func (o *owner) closeTarget(target string) {
	d := o.dressing(target)
	defer o.unseen(target, d)
	for range closeTries {
		if _, open := o.page(target); !open {
			return
		}
		o.mux.send("", "Target.closeTarget", map[string]string{"targetId": target}, nil)
		timer := time.NewTimer(time.Second)
		select {
		case <-d.gone:
		case <-timer.C:
		case <-o.mux.in.done: // with the browser
			return
		}
	}
}

// closeTries is how often a page is closed that stays.
const closeTries = 10

// closeClosed closes the pages that are at a closed address where there is nobody who could want them, and the settings' page where a browser that died
// has left it among its tabs.
func (o *owner) closeClosed(ctx context.Context, shut func(target string)) error {
	targets, err := o.mux.targets(ctx)
	if err != nil {
		return err
	}
	var left []string
	for _, t := range targets {
		if t.Type == "page" && !o.mux.isPrivate(t.TargetID) && (t.URL == settingsPage || o.closes(t.URL)) {
			left = append(left, t.TargetID)
		}
	}
	return o.closePages(ctx, left, shut)
}

// closePages closes pages. A browser with nothing else gets a blank tab first: with its last one it would go.
func (o *owner) closePages(ctx context.Context, all []string, shut func(target string)) (err error) {
	o.closeOnce.Lock()
	stays := func(p Page) bool { return !slices.Contains(all, p.Target) && !o.mux.isShut(p.Target) }
	if len(all) > 0 && !slices.ContainsFunc(o.openPages(), stays) {
		err = o.mux.call(ctx, "", "Target.createTarget", map[string]string{"url": BlankPage}, nil)
	}
	o.closeOnce.Unlock()
	if err != nil {
		return err
	}
	for _, target := range all {
		o.mux.log.Warn("a page of the browser's own, or of a file, is closed", "target", target)
		shut(target)
	}
	return nil
}
