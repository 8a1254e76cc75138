package shim

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"warren/proxy"
)

// This file sums up what went through a run's proxies, by day.

// Traffic is what went through a proxy on one day (UTC).
type Traffic struct {
	ProxyID     string `json:"proxyId"` // "": directly
	Day         int64  `json:"day"`     // since 1970-01-01
	BytesUp     int64  `json:"bytesUp"`
	BytesDown   int64  `json:"bytesDown"`
	Connections int64  `json:"connections"`
}

// trafficLog puts what the relay has counted since the last look down to the day of the look.
type trafficLog struct {
	mu   sync.Mutex
	last map[string]proxy.RouteStats
	sums []Traffic
}

const secondsOfDay = 24 * 60 * 60

// look takes the counters in, and gives the sums: what it said once it says again, or more. It reads the counters and the clock itself, while
// nobody else looks: figures that came in another order than they were read in would be less than the ones before.
func (l *trafficLog) look(clock func() time.Time, read func() []proxy.RouteStats) []Traffic {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, stats := clock(), read()
	if l.last == nil {
		l.last = map[string]proxy.RouteStats{}
	}
	day := now.Unix() / secondsOfDay
	for _, s := range stats {
		before := l.last[s.Key]
		if s == before {
			continue
		}
		l.last[s.Key] = s
		i := slices.IndexFunc(l.sums, func(t Traffic) bool { return t.ProxyID == s.Key && t.Day == day })
		if i < 0 {
			i = len(l.sums)
			l.sums = append(l.sums, Traffic{ProxyID: s.Key, Day: day})
		}
		t := &l.sums[i]
		t.BytesUp += s.BytesUp - before.BytesUp
		t.BytesDown += s.BytesDown - before.BytesDown
		t.Connections += s.Connected - before.Connected
	}
	out := slices.Clone(l.sums)
	slices.SortFunc(out, func(a, b Traffic) int {
		if a.Day != b.Day {
			return int(a.Day - b.Day)
		}
		return strings.Compare(a.ProxyID, b.ProxyID)
	})
	return out
}

// serveTraffic tells the sums as they are now.
func (p *process) serveTraffic(w http.ResponseWriter, _ *http.Request) {
	send(w, p.traffic.look(time.Now, p.relay.RouteStats))
}

// Traffic asks the shim what has gone through the run's proxies so far.
func (c *Client) Traffic(ctx context.Context) ([]Traffic, error) {
	var out []Traffic
	err := c.call(ctx, http.MethodGet, "/traffic", nil, &out)
	return out, err
}
