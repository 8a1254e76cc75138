package shim

import (
	"context"
	"net/url"
	"sync"
	"time"

	"warren/browser"
	"warren/cgroup"
)

// Ends a run whose control group has no memory left. Version 2 has killed the whole browser by then, and version 1 one
// process of it: the run ends in both, and others do not notice.

const (
	// sampleTime is how long the pages of a browser that is short of memory may take to say what they have.
	sampleTime = time.Second
	// samplePause is the time between two such questions. Meanwhile nothing slows the run down.
	samplePause = 30 * time.Second
	// crashWait is how long the browser may take to say which page's process the kernel has killed. It is waited for only if the kernel
	// has killed another process, and while the machine is busy.
	crashWait = 3 * time.Second
)

// memoryWatch watches a run's memory.
type memoryWatch struct {
	browser *browser.Browser
	group   *cgroup.Group // nil: it has none

	mu  sync.Mutex
	tab *LargeTab // the largest when the group reached the mark below its limit; nil: not known
}

// watch watches the group until stop is called. starved is closed when the kernel has killed a process of the group.
// Without a group it never is.
func (m *memoryWatch) watch() (starved <-chan struct{}, stop func()) {
	before := m.group.OOMKills()
	w, err := m.group.Watch()
	if err != nil {
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	out, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for again := (<-chan time.Time)(nil); ; {
			select {
			case _, more := <-w.C():
				if !more {
					return
				}
			case <-again:
				again = nil
				m.group.Mark(true) //nolint:errcheck // then no tab is named
				continue
			}
			if m.group.OOMKills() > before {
				m.awaitCrash(ctx)
				close(out)
				return
			}
			if again == nil { // the mark was reached. Whoever is above it goes on as fast as before
				m.sample(ctx)
				m.group.Mark(false) //nolint:errcheck // it goes on slowly
				again = time.After(samplePause)
			}
		}
	}()
	return out, func() { cancel(); w.Close(); <-done }
}

// sample finds the largest tab.
func (m *memoryWatch) sample(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sampleTime)
	defer cancel()
	if tab := m.browser.LargestTab(ctx); tab != nil && m.group.OOMKills() == 0 {
		m.set(tab)
	}
}

// awaitCrash waits for the browser to say which page has crashed. If it says nothing in time, the page that does not answer is it, else
// the largest; one that was known before stays. In version 2 the browser is gone, too.
func (m *memoryWatch) awaitCrash(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond) // the browser has no event for a single reader
	defer tick.Stop()
	late := time.After(crashWait)
	for {
		asking, cancel := context.WithTimeout(ctx, sampleTime)
		crashed := m.browser.CrashedTab(asking)
		cancel()
		if crashed != nil {
			m.set(crashed)
			return
		}
		select {
		case <-tick.C:
		case <-m.browser.Done():
			return
		case <-late:
			asking, cancel := context.WithTimeout(ctx, sampleTime)
			defer cancel()
			if tab := m.browser.LargestTab(asking); tab != nil && m.largest() == nil {
				m.set(tab)
			}
			return
		case <-ctx.Done():
			return
		}
	}
}

func (m *memoryWatch) set(tab *browser.LargeTab) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tab = &LargeTab{Target: tab.Target, Origin: originOf(tab.URL), Bytes: tab.Bytes}
}

// largest returns the tab to name: the one that the kernel has killed, else the largest before; nil: not known.
func (m *memoryWatch) largest() *LargeTab {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tab
}

// killed reports whether the kernel has ended the browser, which has exited, for lack of memory.
func (m *memoryWatch) killed() bool {
	return m.group.OOMKills() > 0 && m.browser.Exit().Signal != ""
}

// originOf returns the origin of an address; of one without a host the scheme.
func originOf(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return ""
	case u.Host == "":
		return u.Scheme + ":"
	}
	return u.Scheme + "://" + u.Host
}

// shareOf returns what gives a run that yields a tenth of the processor time of others, as yieldNice does without a group.
func shareOf(g *cgroup.Group) func(nice int) error {
	return func(nice int) error {
		if nice == 0 {
			return g.SetShare(100)
		}
		return g.SetShare(10)
	}
}
