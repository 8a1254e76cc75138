package browser

import (
	"context"
	"time"
)

// Method is how a browser was ended.
type Method string

// The ways to end a browser, gentlest first. SIGTERM is never sent: Chrome takes it as the end of the session and loses the last cookies.
const (
	MethodNone      Method = ""          // it had exited by itself, or never ran
	MethodClose     Method = "close"     // CDP Browser.close
	MethodInterrupt Method = "interrupt" // SIGINT, which Chrome takes as the user's request to quit
	MethodKill      Method = "kill"      // SIGKILL to every process of the group
)

// Stop ends the browser and returns what was needed: Browser.close, after 10 s SIGINT, after another 5 s SIGKILL. With force, or when ctx
// ends, the browser is killed at once. Stop returns when every process of the group has exited and the temporary folder is removed. It may
// be called concurrently, repeatedly, and before Start.
func (b *Browser) Stop(ctx context.Context, force bool) Method {
	b.stopcOnce.Do(func() { close(b.stopc) })
	b.freezer.end()
	if force {
		b.endWaits()
	}
	if b.claim() { // it was never started
		b.probe.set(pageValues{})
		close(b.startDone)
		close(b.done)
		close(b.released)
	}
	b.stopOnce.Do(func() { go b.shutDown() })
	select {
	case <-b.released:
	case <-ctx.Done():
		b.endWaits()
		<-b.released
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.method
}

// endWaits ends all waiting, so that the browser is killed.
func (b *Browser) endWaits() { b.killcOnce.Do(func() { close(b.killc) }) }

// shutDown takes one step after the other until the main process has exited. supervise does the rest.
func (b *Browser) shutDown() {
	<-b.startDone
	p := b.process()
	if p == nil {
		return
	}
	b.awaitOwnPages()
	steps := []struct {
		method Method
		act    func()
		wait   time.Duration
	}{
		{MethodClose, func() { b.mux.send("", "Browser.close", nil, nil) }, b.limits.closing},
		{MethodInterrupt, p.group.interrupt, b.limits.interrupt},
	}
	for _, s := range steps {
		if isClosed(b.done) {
			return
		}
		if isClosed(b.killc) {
			break
		}
		b.setMethod(s.method)
		s.act()
		if b.exitsWithin(s.wait) {
			return
		}
	}
	b.setMethod(MethodKill)
	p.kill()
}

// awaitOwnPages waits until the pages of the probe and of SetIdentity have closed, since Chrome would restore them among the user's tabs.
func (b *Browser) awaitOwnPages() {
	closed := make(chan struct{})
	go func() { // ends with the browser at the latest
		b.settings.Lock()
		defer b.settings.Unlock()
		close(closed)
	}()
	late := time.After(probeTimeout)
	for _, gone := range []<-chan struct{}{b.probed, closed} {
		select {
		case <-gone:
		case <-b.done:
		case <-b.killc:
		case <-late:
			return
		}
	}
}

func (b *Browser) setMethod(m Method) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.method = m
}

// exitsWithin waits for the main process to exit, for at most d or until endWaits.
func (b *Browser) exitsWithin(d time.Duration) bool {
	select {
	case <-b.done:
		return true
	case <-b.killc:
	case <-time.After(d):
	}
	return false
}
