//go:build linux

package browser

// exception is a set of cells of TestIdentityTable that may differ under a condition.
type exception struct {
	properties, contexts string // patterns of path.Match, separated by spaces
	when                 func(*tableRound) bool
	why                  string
}

// known returns the exceptions. The host's own identity has none.
func known() []exception {
	declared := func(r *tableRound) bool { return !r.identity.own() }
	return []exception{
		{"screen dpr sizes", "*", func(r *tableRound) bool { return declared(r) && r.headed },
			"with windows the screen is the display's, here 1280x800 device pixels"},
	}
}
