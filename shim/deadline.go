package shim

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// Refuses a change that the server has given up. A shim that was suspended would otherwise apply it on resuming,
// after the server has reported that nothing changed. Of two changes the older could be applied last.

// deadlineHeader holds the deadline of a change in Unix milliseconds. Both sides read the same clock.
const deadlineHeader = "X-Warren-Until"

// setDeadline tells the run's process when the caller gives up.
func setDeadline(ctx context.Context, r *http.Request) {
	if until, bounded := ctx.Deadline(); bounded && r.Method == http.MethodPut {
		r.Header.Set(deadlineHeader, strconv.FormatInt(until.UnixMilli(), 10))
	}
}

// refuseExpired refuses changes whose deadline has passed.
func refuseExpired(change http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		until, err := strconv.ParseInt(r.Header.Get(deadlineHeader), 10, 64)
		if err == nil && time.Now().UnixMilli() >= until {
			http.Error(w, "it came too late", http.StatusRequestTimeout)
			return
		}
		change(w, r)
	}
}
