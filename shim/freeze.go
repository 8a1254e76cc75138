package shim

import (
	"context"
	"sync"
	"time"

	"warren/browser"
	"warren/cgroup"
	"warren/proxy"
)

// Freezes a browser that nobody needs, after its memory was given back. The run's own process goes on, with the relay. The browser goes on
// before a command is written to it (browser/freeze.go), and when a request comes that may need it.

const (
	// quietTime is how long nothing may have gone through the relay.
	quietTime = 5 * time.Second
	// giveBackTime is how long pages may take to say whether they play a sound, and as long again to give memory back. Those that do not
	// say it are silent.
	giveBackTime = 10 * time.Second
	// reclaimStep is how much memory is taken at a time: somebody may come in between.
	reclaimStep = 64 << 20
)

// freezing freezes the browser of one run.
type freezing struct {
	after   time.Duration // 0: never
	browser *browser.Browser
	group   *cgroup.Group
	relay   func() proxy.Stats
	tell    func(since time.Time) // zero: thawed

	mu     sync.Mutex
	needs  int       // requests that go on
	needed time.Time // when one last began or ended

	passed   [3]int64  // what had gone through the relay. Only run uses it, and the next
	passedAt time.Time // when that last changed
}

// need says that somebody needs the browser until done is called.
func (f *freezing) need(b *browser.Browser) (done func()) {
	f.count(1)
	b.Thaw()
	return func() { f.count(-1) }
}

func (f *freezing) count(by int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.needs, f.needed = f.needs+by, time.Now()
}

// unneededFor returns for how long nobody has needed the browser.
func (f *freezing) unneededFor() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.needs > 0 {
		return 0
	}
	return time.Since(f.needed)
}

// quietFor returns for how long nothing has gone through the relay.
func (f *freezing) quietFor() time.Duration {
	s := f.relay()
	if now := [3]int64{s.BytesUp, s.BytesDown, s.Total}; now != f.passed {
		f.passed, f.passedAt = now, time.Now()
	}
	return time.Since(f.passedAt)
}

// isUnneeded reports whether the browser may be frozen, as far as this process knows.
func (f *freezing) isUnneeded() bool {
	quiet := f.quietFor() >= min(quietTime, f.after)
	return f.unneededFor() >= f.after && quiet && !f.browser.IsDownloading()
}

// run freezes the browser whenever nobody needs it, until it has exited.
func (f *freezing) run() {
	if f.after <= 0 {
		return
	}
	f.count(0)
	tick := time.NewTicker(min(f.after/4+time.Millisecond, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-f.browser.Done():
			return
		case <-tick.C:
		}
		if !f.isUnneeded() {
			continue
		}
		if !f.freeze() {
			f.count(0) // a page that plays a sound is asked again as late
			continue
		}
		select {
		case <-f.browser.Done():
			return
		case <-f.browser.Thawed():
			f.tell(time.Time{})
			f.count(0)
		}
	}
}

// freeze freezes the browser, unless a page plays a sound or somebody comes meanwhile. It reports whether the browser was frozen: it may be
// thawed again.
func (f *freezing) freeze() bool {
	listening, heard := context.WithTimeout(context.Background(), giveBackTime) // all of it passes where a page does not answer
	defer heard()
	if sounds, err := f.browser.Sounds(listening); sounds || err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), giveBackTime)
	defer cancel()
	if f.browser.GiveBack(ctx) != nil || !f.isUnneeded() {
		return false
	}
	if f.browser.Freeze() != nil {
		return false
	}
	if !f.isUnneeded() { // it came after the last look
		f.browser.Thaw()
		return true
	}
	if since := f.browser.FrozenSince(); !since.IsZero() { // else it is thawed already
		f.tell(since)
		f.reclaim()
	}
	return true
}

// reclaim has the kernel take memory from the frozen browser: files that it can read again, and what it can swap.
func (f *freezing) reclaim() {
	for !f.browser.FrozenSince().IsZero() {
		if got, err := f.group.Reclaim(reclaimStep); err != nil || got < reclaimStep/8 {
			return
		}
	}
}
