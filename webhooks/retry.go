package webhooks

import (
	"math/rand/v2"
	"net/http"
	"time"
)

// maxAttempts is how often a delivery is tried before it has failed.
const maxAttempts = 10

// pauses returns the times between attempts, as the rules give them: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h.
func pauses() [maxAttempts - 1]time.Duration {
	const h = time.Hour
	return [...]time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * h, 5 * h, 10 * h, 14 * h, 20 * h, 24 * h}
}

// retryAt returns when a delivery is tried again after so many attempts; false: not at all. jitter from 0 to 1 moves the time by up to a
// tenth either way, so that many that failed together are not tried together. asked is the pause that the endpoint asks for.
func retryAt(now time.Time, attempts int, jitter float64, asked time.Duration) (time.Time, bool) {
	all := pauses()
	if attempts < 1 || attempts > len(all) {
		return now, false
	}
	pause := all[attempts-1]
	pause += time.Duration((jitter - 0.5) / 5 * float64(pause))
	return now.Add(max(pause, asked)), true
}

func jitter() float64 { return rand.Float64() }

const (
	// patience is how many attempts in a row may fail before the endpoint is left alone for a while.
	patience = 5
	// longestRest is the longest of these pauses.
	longestRest = time.Minute
)

// setPace slows an endpoint down that asks for it (429, 502, 503, 504, Retry-After) or fails again and again, and sets it free with the
// first success. It is kept in memory alone: the plan of each delivery is in the database.
func (e *endpoint) setPace(r result, now time.Time) {
	e.slow = time.Duration(r.attempt.DurationMs)*time.Millisecond >= slowTime
	if r.attempt.Error == nil {
		e.failures, e.rest = 0, time.Time{}
		return
	}
	e.failures++
	pause := r.pause
	if doublings := e.failures - patience; doublings >= 0 || isBusy(r.attempt.Status) {
		pause = max(pause, min(time.Second<<min(max(0, doublings), 10), longestRest))
	}
	if until := now.Add(pause); until.After(e.rest) {
		e.rest = until
	}
}

// isBusy reports whether a status says that there is too much to do.
func isBusy(status *int) bool {
	if status == nil {
		return false
	}
	switch *status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

const (
	// givenUpAfter is how long an endpoint may fail before it is turned off.
	givenUpAfter = 5 * 24 * time.Hour
	// unbroken is how long two failures may lie apart to count as one time of failing. Nothing is known of a longer time: nothing was
	// sent, no server ran, or the clock was set.
	unbroken = 48 * time.Hour
)

// failingSince returns since when an endpoint fails that fails now, by what was noted before.
func failingSince(now time.Time, since, last *int64) time.Time {
	if since == nil || last == nil {
		return now
	}
	before := time.UnixMilli(*last)
	if gap := now.Sub(before); gap > unbroken || gap < -clockSlack {
		return now
	}
	return time.UnixMilli(*since)
}
