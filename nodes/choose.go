package nodes

import (
	"context"
	"slices"
	"time"

	"warren/problem"
)

// Chooses a server for a profile that none has.

// Wish is what a profile needs of a server.
type Wish struct {
	Version string // the browser's major version that it declares; empty: any
}

// Choose returns the servers that take a profile, the best one first. The error is no_server if there is none.
func (n *Node) Choose(ctx context.Context, _ Wish) ([]Info, error) {
	all, err := n.List(ctx)
	if err != nil {
		return nil, err
	}
	fit := slices.DeleteFunc(all, func(i Info) bool {
		return i.State != Up || i.Draining || i.Capacity > 0 && i.Running >= i.Capacity
	})
	if len(fit) == 0 {
		return nil, problem.New(problem.Unavailable, "no_server", "No server takes the profile: each is draining, full or away.").
			After(5 * time.Second)
	}
	slices.SortStableFunc(fit, func(a, b Info) int { return int(a.Running - b.Running) })
	return fit, nil
}
