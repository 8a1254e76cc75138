package api

import (
	"context"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"

	"warren/events"
	"warren/runs"
	"warren/store"
)

// Makes the runs of this server follow what other servers of the database change: a profile or a proxy. Exits that others find come by
// pool.FollowOthers.

// FollowChanges applies changes of other servers to the runs of this one, until ctx ends. Where the server has a database of its own,
// there is nothing to follow.
func (s *API) FollowChanges(ctx context.Context) {
	if s.nodes.Owner() == "" {
		return
	}
	everything := func(string, string) bool { return true }
	for ctx.Err() == nil {
		sub := s.events.Subscribe(everything, "")
		s.followAll(ctx) // what came before, or was lost
		s.followUntilLost(ctx, sub)
		sub.Close()
	}
}

// followAtOnce is how many changes of other servers are applied at a time. A process of a run that hangs delays the next ones only then.
const followAtOnce = 16

// followUntilLost returns when events were lost, or ctx ends.
func (s *API) followUntilLost(ctx context.Context, sub *events.Subscription) {
	var under sync.WaitGroup
	defer under.Wait()
	turn := make(chan struct{}, followAtOnce)
	for {
		select {
		case e, open := <-sub.C:
			if !open || e.Type == events.Lost {
				return
			}
			if fn := s.follow(ctx, e); fn != nil {
				turn <- struct{}{}
				under.Go(func() { defer func() { <-turn }(); fn() })
			}
		case <-ctx.Done():
			return
		}
	}
}

// followAll reconciles every run with its profile.
func (s *API) followAll(ctx context.Context) {
	for _, run := range s.runs.List(store.All(), "") {
		s.runs.ProfileChanged(ctx, run.ProfileID, runs.Change{FollowProfile: true})
	}
}

// follow returns what applies a change of another server; nil: nothing does.
func (s *API) follow(ctx context.Context, e events.Entry) func() {
	if !e.Elsewhere() || !slices.Contains([]string{"profile.updated", "proxy.updated"}, e.Type) {
		return nil
	}
	var told struct {
		Data objectUpdated `json:"data"`
	}
	if err := json.Unmarshal(e.Text(), &told); err != nil {
		s.log.Error("an event of another server cannot be read", "type", e.Type, "cause", err)
		return nil
	}
	if e.Type == "profile.updated" {
		return func() { s.runs.ProfileChanged(ctx, told.Data.ID, changeOfMembers(told.Data.Changed)) }
	}
	return func() {
		s.runs.ProxyChanged(ctx, store.Proxy{ID: told.Data.ID, WorkspaceID: e.Workspace()}, true, false)
	}
}

// changeOfMembers says what a running browser has to reconcile after members of its profile were changed.
func changeOfMembers(changed []string) (c runs.Change) {
	has := func(member string) bool { return slices.Contains(changed, member) }
	c.FollowProfile = has("proxyId")
	if c.FollowProfile || has("timezone") || has("locale") || has("geolocation") {
		c.Exit = runs.CheckIfStale
	}
	return c
}
