package main

import (
	"context"

	"warren/store"
)

// This file is restart: a stop and a start in one. The new run stands behind the old one from the beginning, and takes its place in the moment in
// which that one's end is recorded: nothing comes in between.

// restart ends a profile's run gracefully and gives the next one. Where nothing runs it is a start; a start or a restart under way is joined.
func (rs *runs) restart(ctx context.Context, row store.Profile, o options) (*startJSON, error) {
	for {
		have := rs.of(row.ID)
		if have == nil || have.bar || !isClosed(have.ready) {
			return rs.start(ctx, row, o)
		}
		if _, err := rs.dryPlan(ctx, row, o); err != nil { // a run is not ended for one that cannot come
			return nil, err
		}
		next, mine, err := rs.claimRestart(ctx, row, o, have)
		if err != nil {
			return nil, err
		}
		if next == nil {
			continue // it has ended meanwhile
		}
		answer, again, err := rs.awaitStart(ctx, next, mine)
		if !again {
			return answer, err
		}
	}
}

// claimRestart puts a new run behind the one that goes on, and ends that. It returns the one that stands there already, or nil when old is not the
// profile's run any more.
func (rs *runs) claimRestart(ctx context.Context, row store.Profile, o options, old *profileRun) (next *profileRun, mine bool, err error) {
	r, launch := rs.newStart(row)
	next, mine, err = rs.queueBehind(old, r)
	if err != nil || !mine {
		r.cancel()
		return next, false, err
	}
	rs.begin(ctx, launch, r, o, func() error {
		<-old.gone // in any case: until then it is the profile's run
		if launch.Err() != nil {
			return cancelledStart()
		}
		return nil
	})
	old.end(false)
	return r, true, nil
}

// queueBehind makes next the run that follows old, or gives the one that does already; nil when old is not its profile's run any more.
func (rs *runs) queueBehind(old, next *profileRun) (*profileRun, bool, error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	switch {
	case rs.closing:
		return nil, false, stoppingProblem()
	case rs.byProfile[old.profileID] != old:
		return nil, false, nil
	case old.next != nil:
		return old.next, false, nil
	}
	old.next = next
	rs.wg.Add(1)
	return next, true, nil
}

// follows says whether another run stands behind this one.
func (rs *runs) follows(r *profileRun) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return r.next != nil
}

// giveUp ends a profile's run, and the one that stands behind it: a stop during a restart is a stop. It returns both; next is nil when there is none.
func (rs *runs) giveUp(profileID string, force bool) (r, next *profileRun) {
	rs.mu.Lock()
	if r = rs.byProfile[profileID]; r != nil {
		next = r.next
	}
	rs.mu.Unlock()
	if next != nil {
		next.end(force)
		rs.log.Info("a restart is given up", "profile", profileID)
	}
	if r != nil {
		r.end(force)
	}
	return r, next
}
