package shim

import (
	"net/http"
	"time"

	"warren/proxy"
)

// This file ends a run that nobody uses, or that has run as long as it may, and says so before.

// The reasons of a notice.
const (
	ReasonIdle   = "idle"   // nobody uses the run
	ReasonMaxRun = "maxRun" // it has run nearly as long as it may
	ReasonMoved  = "moved"  // its proxy was dead: it goes on through the next
)

// Notice says that a run is about to be closed, or that it is not any more; or that it goes on through another proxy.
type Notice struct {
	Reason string     `json:"reason"`
	EndsAt *time.Time `json:"endsAt"`         // nil: it goes on
	From   string     `json:"from,omitempty"` // of a move: the proxy that was dead
	To     string     `json:"to,omitempty"`
	Code   proxy.Code `json:"code,omitempty"` // and why it is held to be
}

// longestNotice is how long before the end the notice comes at most. A tenth of the limit is enough for short ones.
const longestNotice = time.Minute

// limit is one time after which a run ends. Its end comes only when it was announced for a while: a machine that slept may find
// itself behind both times.
type limit struct {
	after time.Duration // 0: none
	since time.Time     // where after begins
	ends  time.Time     // as it was announced; zero while it was not
}

// look says whether the limit's end has come at now, and when to look again at the latest; 0: no need to.
func (l *limit) look(now time.Time) (over bool, again time.Duration) {
	if l.after <= 0 {
		return false, 0
	}
	ahead := min(l.after/10, longestNotice)
	if begins := l.since.Add(l.after - ahead); now.Before(begins) {
		l.ends = time.Time{}
		return false, begins.Sub(now)
	}
	if l.ends.IsZero() {
		l.ends = now.Add(max(l.since.Add(l.after).Sub(now), ahead))
	}
	return !now.Before(l.ends), l.ends.Sub(now)
}

// usage is what tells whether anybody uses the run.
type usage struct {
	held  bool      // a client or a viewer is connected
	asked time.Time // when a client last came or went
	moved int64     // bytes through the relay, where these count
}

// use looks at who uses the run. What a headless browser does by itself counts nothing; at a window somebody may sit who reads.
func (p *process) use() usage {
	u := usage{held: p.browser.Clients() > 0 || p.viewers() > 0}
	if !p.spec.Headless {
		s := p.relay.Stats()
		u.moved = s.BytesUp + s.BytesDown
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	u.asked = p.asked
	return u
}

// noteUse lets requests of clients count as use, also those that come and go between two looks.
func (p *process) noteUse(next http.Handler) http.Handler {
	note := func() {
		p.mu.Lock()
		p.asked = time.Now()
		p.mu.Unlock()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note()
		defer note()
		next.ServeHTTP(w, r)
	})
}

// checkLimits says why the run is to end now, "" when it goes on, and when to look again; 0: no need to.
func (p *process) checkLimits(now time.Time) (why Outcome, again time.Duration) {
	if used := p.use(); used.held || used != p.used {
		p.used, p.idle.since = used, now
	}
	idle, soon := p.idle.look(now)
	expired, later := p.maxRun.look(now)
	p.announce(ReasonIdle, p.idle.ends)
	p.announce(ReasonMaxRun, p.maxRun.ends)
	if again = soon; soon == 0 || later > 0 && later < soon {
		again = later
	}
	switch {
	case expired:
		return Expired, 0
	case idle:
		return Idle, 0
	}
	return "", again
}

// announce tells those who watch when the run will end, as far as they do not know; a zero time: not for this reason.
func (p *process) announce(reason string, ends time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.notices[reason].Equal(ends) {
		return
	}
	p.notices[reason] = ends
	close(p.noticed)
	p.noticed = make(chan struct{})
	p.log.Info("the run's end", "reason", reason, "at", ends)
}

// tell gives the notices that differ from those in told, takes them down there, and says when to ask again.
func (p *process) tell(told map[string]time.Time) (news []Notice, again <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, reason := range []string{ReasonIdle, ReasonMaxRun} {
		ends := p.notices[reason]
		if told[reason].Equal(ends) {
			continue
		}
		told[reason] = ends
		n := Notice{Reason: reason}
		if !ends.IsZero() {
			at := ends.UTC()
			n.EndsAt = &at
		}
		news = append(news, n)
	}
	news, p.moves = append(news, p.moves...), nil
	return news, p.noticed
}
