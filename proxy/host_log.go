package proxy

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// This file keeps which hosts a relay was asked for, where somebody wants that.

// keptHosts is how many are kept by name. What comes after is counted without.
const maxLoggedHosts = 1000

// HostStats are what a host was asked for, and what went there and back.
type HostStats struct {
	Host                                     string
	Connections, BytesUp, BytesDown, Refused int64
	First, Last                              time.Time // when it was asked for
}

// hostLog is what a relay keeps of hosts.
type hostLog struct {
	mu       sync.Mutex
	byName   map[string]*hostTraffic
	unlogged int64 // requests of those that have no place
}

// hostTally is one host's.
type hostTraffic struct {
	traffic
	refused     int64 // with first and last, guarded by the log's mutex
	first, last time.Time
}

// LogHosts keeps from now on which hosts are asked for, or forgets all that was kept.
func (r *Relay) LogHosts(on bool) {
	switch {
	case !on:
		r.hosts.Store(nil)
	case r.hosts.Load() == nil:
		r.hosts.Store(&hostLog{byName: map[string]*hostTraffic{}})
	}
}

// Hosts tells what was kept, by name, and how many requests were for hosts that were not. nil: nothing is kept.
func (r *Relay) Hosts() (out []HostStats, more int64) {
	l := r.hosts.Load()
	if l == nil {
		return nil, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	out = []HostStats{}
	for name, h := range l.byName {
		out = append(out, HostStats{name, h.opened.Load(), h.up.Load(), h.down.Load(), h.refused, h.first, h.last})
	}
	slices.SortFunc(out, func(a, b HostStats) int { return strings.Compare(a.Host, b.Host) })
	return out, l.unlogged
}

// note takes down that a host is asked for; nil when it is not kept. A relay without a log has a nil one.
func (l *hostLog) record(host string, at time.Time) *hostTraffic {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.byName[host]
	if h == nil && len(l.byName) >= maxLoggedHosts {
		l.unlogged++
		return nil
	}
	if h == nil {
		h = &hostTraffic{first: at}
		l.byName[host] = h
	}
	h.last = at
	return h
}

// refuse notes that it was not let through.
func (l *hostLog) recordRefusal(h *hostTraffic) {
	if l == nil || h == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h.refused++
}

// counter adds what a pump moves to the sums of its route and, where one is kept, of its host.
type counter struct{ route, host *atomic.Int64 }

func (c counter) add(n int64) {
	c.route.Add(n)
	if c.host != nil {
		c.host.Add(n)
	}
}

// counters are those of a tunnel's two ways.
func (t *tunnel) counters() (up, down counter) {
	up, down = counter{route: &t.traffic.up}, counter{route: &t.traffic.down}
	if t.host != nil {
		up.host, down.host = &t.host.up, &t.host.down
	}
	return up, down
}
