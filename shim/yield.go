package shim

import (
	"net/http"
	"sync"
	"time"
)

// Lets a browser that is ready yield its processor time to browsers that start. It goes on working for more than a second
// of processor time, and nobody waits for that work. It yields until a client or a viewer comes, and no longer than asked.

const (
	maxYield = 10 * time.Second
	// yieldNice is the nice value of a run that yields. It gets a tenth of the time of a run that does not (sched(7)).
	yieldNice = 10
	// niceRetry is the pause between two attempts to set a nice value. An ordinary user's may be refused with EAGAIN when
	// another one was set within a tenth of a second (proc_sched_autogroup_set_nice in Linux' kernel/sched/autogroup.c).
	niceRetry = 100 * time.Millisecond
)

// yielding lowers a run's share of processor time for a while.
type yielding struct {
	setNice func(nice int) error // of the run's process and its browser

	mu    sync.Mutex
	nice  int         // the value that is set
	inUse bool        // a client or a viewer has come
	timer *time.Timer // sets the value back
}

// begin makes the run yield for d, unless it is in use. Where the system does not offer it, nothing changes.
func (y *yielding) begin(d time.Duration) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.inUse || d <= 0 || y.nice == 0 && y.setNice(yieldNice) != nil {
		return
	}
	y.nice = yieldNice
	y.restoreAfter(d)
}

// end makes the run yield no more, because somebody uses it.
func (y *yielding) end() {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.inUse = true; y.nice != 0 {
		y.restore()
	}
}

// restore sets the value back, at once or soon. The mutex is held.
func (y *yielding) restore() {
	if y.setNice(0) != nil {
		y.restoreAfter(niceRetry)
		return
	}
	y.nice = 0
	y.timer.Stop()
}

// restoreAfter sets the value back in d. The mutex is held.
func (y *yielding) restoreAfter(d time.Duration) {
	if y.timer != nil {
		y.timer.Reset(d)
		return
	}
	y.timer = time.AfterFunc(d, func() {
		y.mu.Lock()
		defer y.mu.Unlock()
		if y.nice != 0 {
			y.restore()
		}
	})
}

// endAt ends the yielding when a client or a viewer sends a request.
func (y *yielding) endAt(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		y.end()
		next.ServeHTTP(w, r)
	})
}
