//go:build linux

package browser

// This file lists the cells of TestIdentityTable that are known to differ, each with its reason.

// exception is a set of cells that may differ under a condition.
type exception struct {
	properties, contexts string // patterns of path.Match, with blanks between
	when                 func(*tableRound) bool
	sometimes            bool // not in every run: nobody is told when they do not differ any more
	why                  string
}

// known are the exceptions. For the host's own identity there are none.
func known() []exception {
	declared := func(r *tableRound) bool { return !r.identity.own() }
	otherSystem := func(r *tableRound) bool { return r.identity.OS != "" && r.identity.OS != hostOS() }
	return []exception{
		{"platform", "page", func(r *tableRound) bool { return otherSystem(r) && r.second }, true,
			"the second client attaches to this page just before it is sent elsewhere: a session that is not dressed yet brings the host's platform back"},
		{"screen dpr sizes", "*", func(r *tableRound) bool { return declared(r) && r.headed }, false,
			"with windows the screen is the display's, here 1280x800 device pixels"},
	}
}
