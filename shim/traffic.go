package shim

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"warren/proxy"
)

// Sums up the traffic through a run's proxies by day.

// trafficLog adds what the relay has counted since the last update to the day of this update.
type trafficLog struct {
	mu   sync.Mutex
	last map[string]proxy.RouteStats
	sums []Traffic
}

const secondsOfDay = 24 * 60 * 60

// update reads the counters and returns the sums, which never decrease. It reads the counters and the clock under its
// lock, so that concurrent updates cannot apply figures out of order.
func (l *trafficLog) update(clock func() time.Time, read func() []proxy.RouteStats) []Traffic {
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
	slices.SortFunc(out, func(a, b Traffic) int { return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.ProxyID, b.ProxyID)) })
	return out
}

// serveTraffic answers with the current sums.
func (p *process) serveTraffic(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, p.traffic.update(time.Now, p.relay.RouteStats))
}

// Traffic asks the shim for the traffic through the run's proxies so far.
func (c *Client) Traffic(ctx context.Context) (out []Traffic, err error) {
	err = c.call(ctx, http.MethodGet, "/traffic", nil, &out)
	return out, err
}
