//go:build linux

package browser

// This file lists the cells of TestIdentityTable that are known to differ, each with its reason.

// exception is a set of cells that may differ under a condition.
type exception struct {
	properties, contexts string // patterns of path.Match, with blanks between
	when                 func(*tableRound) bool
	why                  string
}

// known are the exceptions. For the host's own identity there are none.
func known() []exception {
	declared := func(r *tableRound) bool { return !r.identity.own() }
	return []exception{
		{"screen dpr sizes", "*", func(r *tableRound) bool { return declared(r) && r.headed },
			"with windows the screen is the display's, here 1280x800 device pixels"},
	}
}
