package nodes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"warren/problem"
	"warren/store"
)

// Does the actions of schedules on the other servers.

// SchedulesPath begins the addresses at which a server does a schedule's action for another one. The ids of the schedule and of the profile
// follow, with a slash between.
const SchedulesPath = "/node/schedules/"

// runEvery is how often a run of another server is looked at until it has ended.
const runEvery = 2 * time.Second

// Acted is what came of a schedule's action to a profile on another server.
type Acted struct {
	Unchanged bool   `json:"unchanged"`         // nothing was to be done
	RunID     string `json:"runId,omitempty"`   // of the run that was started
	Code      string `json:"code,omitempty"`    // of the problem; "": it was done
	Message   string `json:"message,omitempty"` // of the problem, for people
}

// Best returns the ids of the servers that may start a profile without data, the best first. The error is no_server if there is none.
func (n *Node) Best(ctx context.Context, profile store.Profile) (ids []string, err error) {
	want, err := WishOf(profile)
	if err != nil {
		return nil, err
	}
	fit, err := n.Choose(ctx, want)
	for _, one := range fit {
		ids = append(ids, one.ID)
	}
	return ids, err
}

// Labelled reports whether this server has the labels that the placement of a profile asks for, as it is in the database.
func (n *Node) Labelled(placement *string) (bool, error) {
	want, err := WishOf(store.Profile{Placement: placement})
	return unlabelled(Info{Labels: n.cfg.Labels}, want) == "", err
}

// Act does a schedule's action to a profile whose data another server has, which NodeID of the row names. unchanged: nothing was to be
// done. ended is closed when a run ends that was started, and with ctx; nil: none was. The error is the other server's problem,
// node_unreachable if nothing was sent, or node_failed if it is unknown what came of it.
func (n *Node) Act(ctx context.Context, profile store.Profile, of store.Schedule) (unchanged bool, ended <-chan struct{}, err error) {
	to, err := n.Other(ctx, *profile.NodeID)
	if err != nil {
		return false, nil, err
	}
	path := "https://" + ServerName(to.ID) + SchedulesPath + of.ID + "/" + profile.ID
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, path, nil)
	if err != nil {
		return false, nil, err
	}
	res, err := n.Transport(to.ID, to.Address).RoundTrip(r)
	switch {
	case errors.Is(err, ErrNotReached):
		return false, nil, to.Unreachable().Because(err)
	case err != nil:
		return false, nil, Failed(to.Name).Because(err)
	}
	defer res.Body.Close()
	var done Acted
	if res.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answers %s", res.Status)
	} else {
		err = json.UnmarshalRead(res.Body, &done)
	}
	switch {
	case err != nil: // an older Warren, or it broke off
		return false, nil, Failed(to.Name).Because(err)
	case done.Code != "":
		return false, nil, problem.New(problem.Conflict, done.Code, done.Message)
	case done.RunID != "":
		ended = n.endOf(ctx, done.RunID)
	}
	return done.Unchanged, ended, nil
}

// endOf returns a channel that is closed when the database has the end of a run, or when ctx ends.
func (n *Node) endOf(ctx context.Context, runID string) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(runEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			run, err := n.store.Read().GetRun(ctx, store.GetRunParams{ID: runID})
			if errors.Is(err, store.ErrNoRow) || err == nil && run.EndedAt != nil {
				return
			}
		}
	}()
	return ended
}
