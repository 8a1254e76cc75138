package browser

import (
	"context"
	"slices"
	"time"
)

// shouldClose reports whether the controller closes a page at an address. Without windows nobody could want a blocked page, and nobody has
// asked for the page of a file that a client dropped.
func (ctl *controller) shouldClose(address string) bool {
	return ctl.mux.blocked.extensions.isBlocked(address) && (!ctl.emulation.headful || ctl.filesDropped.Load() && isFile(address))
}

// closeIfBlocked closes a page that has reached a blocked address. closeBlockedPages does that for pages that are there at the start.
func (ctl *controller) closeIfBlocked(target, address string) {
	if !ctl.closeBlocked.Load() || !ctl.shouldClose(address) || ctl.mux.isSettingsPage(target) {
		return
	}
	go func() {
		ctl.awaitSent(target) // a paused page does not close
		if _, isPage := ctl.page(target); !isPage {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
		defer cancel()
		if err := ctl.closePages(ctx, []string{target}, ctl.closePage); err != nil {
			ctl.mux.log.Warn("a page of the browser's own, or of a file, was not closed", "error", err)
		}
	}()
}

// awaitSent waits until the controller has resumed a target. It gives up after attachTimeout.
func (ctl *controller) awaitSent(target string) {
	state := ctl.stateOf(target)
	select {
	case <-state.sent:
	case <-state.done:
	case <-time.After(attachTimeout):
	case <-ctl.mux.in.done: // the browser has gone
	}
	ctl.forgetUnattached(target, state)
}

// closePage closes a page that a client's session may still pause. Chrome then confirms the command, but does not always carry it out.
func (ctl *controller) closePage(target string) {
	state := ctl.stateOf(target)
	defer ctl.forgetUnattached(target, state)
	for range closeAttempts {
		if _, open := ctl.page(target); !open {
			return
		}
		ctl.mux.send("", "Target.closeTarget", map[string]string{"targetId": target}, nil)
		select {
		case <-state.detached:
		case <-time.After(time.Second):
		case <-ctl.mux.in.done: // with the browser
			return
		}
	}
}

// closeAttempts is how often closePage tries.
const closeAttempts = 10

// closeBlockedPages closes the pages among targets at blocked addresses that nobody could want, and a settings page that a crashed browser
// has left among its tabs. It calls shut for each of them.
func (ctl *controller) closeBlockedPages(ctx context.Context, targets []TargetInfo, shut func(target string)) error {
	var left []string
	for _, t := range targets {
		if t.Type == "page" && !ctl.mux.isSettingsPage(t.TargetID) && (t.URL == settingsURL || ctl.shouldClose(t.URL)) {
			left = append(left, t.TargetID)
		}
	}
	return ctl.closePages(ctx, left, shut)
}

// closePages closes pages by calling shut. If no other page is open it opens a blank one first, since Chrome exits with its last page.
func (ctl *controller) closePages(ctx context.Context, all []string, shut func(target string)) (err error) {
	ctl.closeMu.Lock()
	stays := func(p Page) bool { return !slices.Contains(all, p.Target) && !ctl.mux.isBlocked(p.Target) }
	if len(all) > 0 && !slices.ContainsFunc(ctl.openPages(), stays) {
		err = ctl.mux.call(ctx, "", "Target.createTarget", map[string]string{"url": BlankPage}, nil)
	}
	ctl.closeMu.Unlock()
	if err != nil {
		return err
	}
	for _, target := range all {
		ctl.mux.log.Warn("a page of the browser's own, or of a file, is closed", "target", target)
		shut(target)
	}
	return nil
}
