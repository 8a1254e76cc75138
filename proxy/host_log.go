package proxy

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Logs the hosts that a relay is asked for, when that is switched on.

// maxLoggedHosts is how many hosts are logged by name. Requests for further hosts are only counted.
const maxLoggedHosts = 1000

// HostStats is the traffic of one host.
type HostStats struct {
	Host                                     string
	Connections, BytesUp, BytesDown, Refused int64     // tunnels opened, payload, and requests that Rules refused
	First, Last                              time.Time // requests
}

// hostLog is a relay's log of hosts.
type hostLog struct {
	mu       sync.Mutex
	byName   map[string]*hostTraffic
	unlogged int64 // requests for hosts beyond maxLoggedHosts
}

// hostTraffic is the traffic of one host.
type hostTraffic struct {
	traffic
	refused     int64 // guarded by the log's mutex, as first and last are
	first, last time.Time
}

// LogHosts starts to log hosts, or stops and forgets the log.
func (r *Relay) LogHosts(on bool) {
	switch {
	case !on:
		r.hosts.Store(nil)
	case r.hosts.Load() == nil:
		r.hosts.Store(&hostLog{byName: map[string]*hostTraffic{}})
	}
}

// Hosts returns the log by name, and how many requests were for hosts that it has no room for. A nil list means that hosts are not logged.
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

// record records a request for a host. It returns nil when the host is not logged, also on a nil log.
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

// recordRefusal records that a request was refused. h may be nil.
func (l *hostLog) recordRefusal(h *hostTraffic) {
	if l == nil || h == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h.refused++
}

// counter adds the bytes that a pump moves to the traffic of its route and, unless nil, of its host.
type counter struct{ route, host *atomic.Int64 }

func (c counter) add(n int64) {
	c.route.Add(n)
	if c.host != nil {
		c.host.Add(n)
	}
}

// counters returns the counters of a tunnel's two directions.
func (t *tunnel) counters() (up, down counter) {
	up, down = counter{route: &t.traffic.up}, counter{route: &t.traffic.down}
	if t.host != nil {
		up.host, down.host = &t.host.up, &t.host.down
	}
	return up, down
}
