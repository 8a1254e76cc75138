package shim

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// This file keeps a change from being carried out when the server has given it up: a run's process that stood still would else do so when it goes on, and
// the server, which has told everybody that nothing was changed, would never know. Of two changes the older could come last.

// untilHeader says until when a change is waited for, in milliseconds since 1970: both sides read one clock.
const untilHeader = "X-Warren-Until"

// sayUntil tells the run's process when the caller gives up.
func sayUntil(ctx context.Context, r *http.Request) {
	if until, bounded := ctx.Deadline(); bounded && r.Method == http.MethodPut {
		r.Header.Set(untilHeader, strconv.FormatInt(until.UnixMilli(), 10))
	}
}

// inTime refuses changes that nobody waits for any more.
func inTime(change http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		until, err := strconv.ParseInt(r.Header.Get(untilHeader), 10, 64)
		if err == nil && time.Now().UnixMilli() >= until {
			http.Error(w, "it came too late", http.StatusRequestTimeout)
			return
		}
		change(w, r)
	}
}
