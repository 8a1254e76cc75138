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
	otherSystem := func(r *tableRound) bool { return r.identity.OS != "" && r.identity.OS != "linux" }
	declared := func(r *tableRound) bool { return !r.identity.own() }
	return []exception{
		{"platform", "worker worker-* extension-worker", otherSystem,
			"no command of DevTools and no flag changes navigator.platform in workers: it is the host's"},
		{"first:ch", "popup-noopener link-blank", declared,
			"a tab that opens without an opener asks for its address before it can be attached to: the hints of that request are the browser's own"},
		{"first:ch", "restored", declared,
			"a tab that Chrome restores asks for its address before it can be attached to: the hints of that request are the browser's own"},
	}
}
