package browser

import (
	"time"
)

// limits are the timeouts of a Browser. Tests change them.
type limits struct {
	start     time.Duration // until every page has its overrides, if the caller sets no deadline
	firstPage time.Duration // until a page has opened by itself; then one is opened
	probe     time.Duration // for an open page to answer the probe; then a new page is opened
	probeNew  time.Duration // for the new page to answer
	closing   time.Duration // from Browser.close to SIGINT
	interrupt time.Duration // from SIGINT to SIGKILL
	groupExit time.Duration // from the main process' exit until the rest of the group is killed
	abandon   time.Duration // from closing the pipe of a failed start to SIGKILL
}

func defaultLimits() limits {
	return limits{
		start: 30 * time.Second, firstPage: 10 * time.Second, probe: probeTimeout, probeNew: probeTimeout,
		closing: 10 * time.Second, interrupt: 5 * time.Second,
		groupExit: 2 * time.Second, abandon: 2 * time.Second,
	}
}

const (
	probeTimeout  = 2 * time.Second // of the open pages, of a new one, and of closing it
	maxProbes     = 8               // how many open pages are probed
	probeAttempts = 3               // for a page that navigates meanwhile
)

// queryTimeout bounds Chrome's answer to a request of the HTTP interface.
const queryTimeout = 10 * time.Second

// attachTimeout bounds two waits: until the controller has attached to a target, and until it knows the target's overrides. A target that
// exceeds it is closed, since no target may run without overrides or stay paused.
const attachTimeout = 3 * time.Second
