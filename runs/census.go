package runs

import "sync/atomic"

// census counts the runs of a manager by state, so that a reader of the figures need not look at each.
type census struct {
	at     [4]atomic.Int64 // by stage
	frozen atomic.Int64
}

// count returns 0 before anything was counted.
func count(n *atomic.Int64) int { return int(max(0, n.Load())) }
