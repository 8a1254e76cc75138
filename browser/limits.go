package browser

import (
	"time"
)

// limits are the times that a Browser waits. Tests shorten them.
type limits struct {
	start     time.Duration // until Chrome takes commands and its pages are attached, where the caller sets no time
	firstPage time.Duration // for a page to come by itself, before one is made
	probe     time.Duration // for an open page to say what pages show, before a new one is asked
	probeNew  time.Duration // for the new one
	closing   time.Duration // from Browser.close to SIGINT
	interrupt time.Duration // from SIGINT to SIGKILL
	groupExit time.Duration // for the other processes of the group after the main one, before they are killed
	abandon   time.Duration // for a browser whose start failed, from closing the pipe to SIGKILL
}

func defaultLimits() limits {
	return limits{
		start: 30 * time.Second, firstPage: 10 * time.Second, probe: probeTimeout, probeNew: probeTimeout,
		closing: 10 * time.Second, interrupt: 5 * time.Second,
		groupExit: 2 * time.Second, abandon: 2 * time.Second,
	}
}

const (
	probeTimeout  = 2 * time.Second // for the open pages, once more for a new one, and for that one's end
	maxProbes     = 8               // how many of the open pages are asked
	probeAttempts = 3               // how often one is asked that goes elsewhere meanwhile
)

// queryTimeout is how long Chrome may take to answer a request of the HTTP interface.
const queryTimeout = 10 * time.Second

// attachTimeout bounds the wait until the controller has met a target, and until it knows the target's overrides. A target that has to wait longer
// is closed: none runs without overrides or stays paused.
const attachTimeout = 3 * time.Second
