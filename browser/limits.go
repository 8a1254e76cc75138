package browser

import (
	"time"
)

// limits are the times that a Browser waits. Tests shorten them.
type limits struct {
	start     time.Duration // until Chrome takes commands and its pages are attached, where the caller sets no time
	firstPage time.Duration // for a page to come by itself, before one is made
	look      time.Duration // for an open page to say what pages show, before a new one is asked
	lookNew   time.Duration // for the new one
	ask       time.Duration // from Browser.close to SIGINT
	interrupt time.Duration // from SIGINT to SIGKILL
	leave     time.Duration // for the other processes of the group after the main one, before they are killed
	abandon   time.Duration // for a browser whose start failed, from closing the pipe to SIGKILL
}

func defaultLimits() limits {
	return limits{
		start: 30 * time.Second, firstPage: 10 * time.Second, look: lookTimeout, lookNew: lookTimeout,
		ask: 10 * time.Second, interrupt: 5 * time.Second,
		leave: 2 * time.Second, abandon: 2 * time.Second,
	}
}

const (
	lookTimeout = 2 * time.Second // for the open pages, once more for a new one, and for that one's end
	lookPages   = 8               // how many of the open pages are asked
	lookTries   = 3               // how often one is asked that goes elsewhere meanwhile
)

// queryTimeout is how long Chrome may take to answer a request of the HTTP interface.
const queryTimeout = 10 * time.Second

// patience bounds the wait until the controller has met a target, and until it knows the target's overrides. A target that has to wait longer
// is closed: none runs without overrides or stays paused.
const patience = 3 * time.Second
