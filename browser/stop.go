package browser

import (
	"context"
	"time"
)

// Method is what ended a browser.
type Method string

// The ways in which a browser ends, from the gentlest. SIGTERM is never sent: Chrome takes it as the end of the
// session and loses the last cookies.
const (
	MethodNone      Method = ""          // it had gone by itself, or never ran
	MethodClose     Method = "close"     // CDP Browser.close
	MethodInterrupt Method = "interrupt" // SIGINT, which Chrome takes as the user's wish to quit
	MethodKill      Method = "kill"      // SIGKILL to every process of the group
)

// Stop ends the browser and says what was needed: Browser.close, after 10 s SIGINT, after another 5 s SIGKILL.
// With force it is killed at once. When ctx ends, patience ends too: the browser is killed. Stop returns when every process of the
// group has gone and the temporary folder is removed. It may be called several times, at the same time too, and before Start.
func (b *Browser) Stop(ctx context.Context, force bool) Method {
	b.stopcOnce.Do(func() { close(b.stopc) })
	if force {
		b.endWaits()
	}
	if b.claim() { // never started
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

// endWaits ends all patience.
func (b *Browser) endWaits() { b.killcOnce.Do(func() { close(b.killc) }) }

// shutDown goes down the steps until the main process has gone. The goroutine that owns the process does the rest.
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
		select {
		case <-b.done:
			return
		case <-b.killc:
			continue
		default:
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

// awaitOwnPages waits until the pages have gone that were opened to see what pages show, or to change it: Chrome would keep them among the user's tabs.
func (b *Browser) awaitOwnPages() {
	closed := make(chan struct{})
	go func() { // it ends with the browser at the latest
		b.settings.Lock()
		defer b.settings.Unlock()
		close(closed)
	}()
	late := time.NewTimer(probeTimeout)
	defer late.Stop()
	for _, gone := range []<-chan struct{}{b.probed, closed} {
		select {
		case <-gone:
		case <-b.done:
		case <-b.killc:
		case <-late.C:
			return
		}
	}
}

func (b *Browser) setMethod(m Method) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.method = m
}

// exitsWithin waits for the main process, at most for d and not when there is no patience.
func (b *Browser) exitsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-b.done:
		return true
	case <-b.killc:
	case <-timer.C:
	}
	return false
}
