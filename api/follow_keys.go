package api

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"warren/events"
)

// Ends what keys have open that another server of the same database has revoked or deleted. An event tells of it at once. Beside that the
// keys in use are compared with the database each second, since an event can be lost with the server that has to publish it.
//
// While the database does not answer, connections that are open go on, and so do capabilities. A request with a key is refused after
// maxKeyAge, since nobody knows whether the key still counts. WARREN_API_KEY is not in the database.

// compareKeysEvery is how often the keys in use are compared with the database.
const compareKeysEvery = time.Second

// FollowKeys ends what keys of a shared database have open until ctx ends. Where the server has a database of its own, there is nothing
// to follow.
func (s *API) FollowKeys(ctx context.Context) {
	if !s.store.Shared() {
		return
	}
	ofServer := func(workspace, key string) bool { return workspace == "" && key == "" } // as key.revoked is
	sub := s.events.Subscribe(ofServer, "")
	defer func() { sub.Close() }()
	tick := time.NewTicker(compareKeysEvery)
	defer tick.Stop()
	for heard := sub.C; ; {
		s.compareKeys(ctx)
		for again := false; !again; {
			select {
			case e, open := <-heard:
				if !open { // it lagged, or the server ends
					heard = nil
				}
				again = e.Type == "key.revoked" || e.Type == events.Lost
			case <-tick.C:
				if again = true; heard == nil {
					sub = s.events.Subscribe(ofServer, "")
					heard = sub.C
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// compareKeys ends the keys in use that are not valid any more.
func (s *API) compareKeys(ctx context.Context) {
	began := time.Now()
	used := slices.Concat(s.keys.ids(), s.keyContexts.ids(), s.runs.Keys())
	slices.Sort(used)
	used = slices.DeleteFunc(slices.Compact(used), func(id string) bool { return strings.HasPrefix(id, environmentID) })
	if len(used) > 0 {
		text, err := json.Marshal(used)
		if err != nil {
			s.log.Error("the keys in use cannot be compared with the database", "cause", err)
			return
		}
		valid, err := s.store.Read().ListValidKeys(ctx, string(text))
		if err != nil { // the store logs an outage
			return
		}
		for _, id := range used {
			if !slices.Contains(valid, id) {
				s.endKey(ctx, id)
			}
		}
	}
	s.keys.mu.Lock()
	s.keys.compared = began
	s.keys.mu.Unlock()
}
