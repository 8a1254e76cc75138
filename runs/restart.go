package runs

import (
	"context"

	"warren/store"
)

// Restarts a profile. The new run is the successor of the old one and replaces it when its end is recorded, so that no
// other start comes between.

// Restart ends a profile's run gracefully and starts the next one. A profile without a run is just started. A start or
// restart in progress is joined.
func (m *Manager) Restart(ctx context.Context, row store.Profile, o Options) (*Started, error) {
	for {
		have := m.runOf(row.ID)
		if have == nil || have.isHold || !isClosed(have.ready) {
			return m.Start(ctx, row, o)
		}
		if _, err := m.dryPlan(ctx, row, o); err != nil { // a start that must fail does not end the current run
			return nil, err
		}
		next, mine, err := m.claimRestart(ctx, row, o, have)
		if err != nil {
			return nil, err
		}
		if next == nil {
			continue // the old run ended meanwhile
		}
		answer, again, err := m.awaitStart(ctx, next, mine)
		if !again {
			return answer, err
		}
	}
}

// claimRestart registers a successor and ends the old run. It returns the existing successor if there is one, or nil if
// old is no longer the profile's run.
func (m *Manager) claimRestart(ctx context.Context, row store.Profile, o Options, old *run) (next *run, mine bool, err error) {
	r, launch := m.newStart(row)
	next, mine, err = m.setSuccessor(old, r)
	if err != nil || !mine {
		r.cancel()
		return next, false, err
	}
	m.startLife(ctx, launch, r, o, func() error {
		<-old.done // even if cancelled: until then old is the profile's run
		if launch.Err() != nil {
			return CancelledStart()
		}
		return nil
	})
	old.requestEnd(false)
	return r, true, nil
}

// setSuccessor registers next as the successor of old, or returns the existing one. It returns nil if old is no longer
// its profile's run.
func (m *Manager) setSuccessor(old, next *run) (*run, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closing:
		return nil, false, stoppingProblem()
	case m.byProfile[old.profileID] != old:
		return nil, false, nil
	case old.successor != nil:
		return old.successor, false, nil
	}
	old.successor = next
	m.wg.Add(1)
	return next, true, nil
}

// hasSuccessor reports whether another run will replace this one.
func (m *Manager) hasSuccessor(r *run) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return r.successor != nil
}

// endAll ends a profile's run and its successor, because a stop during a restart is a stop. next is nil if there is no
// successor.
func (m *Manager) endAll(profileID string, force bool) (r, next *run) {
	m.mu.Lock()
	if r = m.byProfile[profileID]; r != nil {
		next = r.successor
	}
	m.mu.Unlock()
	if next != nil {
		next.requestEnd(force)
		m.log.Info("a restart is given up", "profile", profileID)
	}
	if r != nil {
		r.requestEnd(force)
	}
	return r, next
}
