package shim

import (
	"errors"
	"net/http"
	"time"
)

// Ends a run that is idle or has reached its maximum duration, and announces the end beforehand. Has a browser frozen that nobody needs.

// maxNotice is the longest time between a notice and the end. Short limits are announced a tenth of the limit ahead.
const maxNotice = time.Minute

// limit is a duration after which a run ends. The end must have been announced for a while first: a machine that
// slept may wake up after both times.
type limit struct {
	after  time.Duration // 0: no limit
	since  time.Time     // start of the duration
	endsAt time.Time     // the announced end; zero while none is announced
}

// check reports whether the limit's end has come at now, and the longest wait until the next check. A wait of 0 means
// that no check is needed.
func (l *limit) check(now time.Time) (over bool, wait time.Duration) {
	if l.after <= 0 {
		return false, 0
	}
	ahead := min(l.after/10, maxNotice)
	if begins := l.since.Add(l.after - ahead); now.Before(begins) {
		l.endsAt = time.Time{}
		return false, begins.Sub(now)
	}
	if l.endsAt.IsZero() {
		l.endsAt = now.Add(max(l.since.Add(l.after).Sub(now), ahead))
	}
	return !now.Before(l.endsAt), l.endsAt.Sub(now)
}

// usage tells whether the run is in use.
type usage struct {
	connected bool      // a client or a viewer is connected
	lastUse   time.Time // when a client last came or went
	relayed   int64     // bytes through the relay, where traffic counts as use
}

// usage returns the run's current usage. The traffic of a headless browser does not count, since it may be the
// browser's own. With a window, a person may be reading.
func (p *process) usage() usage {
	u := usage{connected: p.browser.Clients() > 0 || p.viewers() > 0}
	if !p.spec.Headless {
		s := p.relay.Stats()
		u.relayed = s.BytesUp + s.BytesDown
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	u.lastUse = p.lastUse
	return u
}

// recordUse counts clients' requests as use, also those that begin and end between two checks.
func (p *process) recordUse(next http.Handler) http.Handler {
	note := func() {
		p.mu.Lock()
		p.lastUse = time.Now()
		p.mu.Unlock()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note()
		defer note()
		next.ServeHTTP(w, r)
	})
}

// checkLimits returns why the run has to end now, "" if it continues. wait is the time until the next check; 0 means
// that no check is needed.
func (p *process) checkLimits(now time.Time) (why Outcome, wait time.Duration) {
	if used := p.usage(); used.connected || used != p.lastUsage {
		p.lastUsage, p.idle.since = used, now
	}
	idle, soon := p.idle.check(now)
	expired, later := p.maxRun.check(now)
	p.announce(ReasonIdle, p.idle.endsAt)
	p.announce(ReasonMaxRun, p.maxRun.endsAt)
	if wait = soon; soon == 0 || later > 0 && later < soon {
		wait = later
	}
	switch {
	case expired:
		return Expired, 0
	case idle:
		return Idle, 0
	}
	return "", wait
}

// announce tells watching servers when the run will end for a reason. A zero time calls the end off.
func (p *process) announce(reason string, ends time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.announced[reason].Equal(ends) {
		return
	}
	p.announced[reason] = ends
	close(p.noticesChanged)
	p.noticesChanged = make(chan struct{})
	p.log.Info("the run's end", "reason", reason, "at", ends)
}

// newNotices returns the notices that differ from those in sent, and records them there. changed is closed when there
// may be more.
func (p *process) newNotices(sent map[string]time.Time) (news []Notice, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, reason := range []string{ReasonIdle, ReasonMaxRun, ReasonFrozen} {
		ends := p.announced[reason]
		if sent[reason].Equal(ends) {
			continue
		}
		sent[reason] = ends
		n := Notice{Reason: reason, EndsAt: orNil(ends)}
		if reason == ReasonFrozen {
			n.EndsAt, n.Since = nil, n.EndsAt
		}
		news = append(news, n)
	}
	news, p.pendingMoves = append(news, p.pendingMoves...), nil
	return news, p.noticesChanged
}

// orNil returns a time for JSON; nil for the zero time.
func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

// awake serves requests that may need the browser.
func (p *process) awake(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer p.freezing.need(p.browser)()
		next.ServeHTTP(w, r)
	})
}

// keepFrozen freezes the run as its spec says, until its browser has exited.
func (p *process) keepFrozen() {
	f := &p.freezing
	f.after, f.browser, f.group, f.relay, f.tell = p.spec.FreezeAfter, p.browser, p.spec.Group, p.relay.Stats, p.tellFrozen
	if f.after > 0 && !f.group.CanFreeze() {
		p.log.Warn("the run is not frozen", "cause", errors.ErrUnsupported)
		f.after = 0
	}
	f.run()
}

// tellFrozen tells watching servers since when the browser is frozen; the zero time: it is not.
func (p *process) tellFrozen(since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.announced[ReasonFrozen] = since
	close(p.noticesChanged)
	p.noticesChanged = make(chan struct{})
	p.log.Info("freezing", "since", since)
}
