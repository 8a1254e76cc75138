package runs

import (
	"slices"
	"sync"
	"time"

	"warren/shim"
)

// Lets browsers that have just become ready yield to those that start. A browser goes on working for more than a second of
// processor time after it is ready, and would slow the next start down. A run that somebody uses does not yield.

// settleTime is how long after its start a run yields.
const settleTime = 2 * time.Second

// settling holds the runs that became ready within the last settleTime.
type settling struct {
	mu   sync.Mutex
	runs []settlingRun // oldest first
}

type settlingRun struct {
	client *shim.Client
	until  time.Time
}

// add adds a run that became ready at a time.
func (s *settling) add(client *shim.Client, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
	s.runs = append(s.runs, settlingRun{client, at.Add(settleTime)})
}

// now returns the runs that are still settling.
func (s *settling) now() []settlingRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
	return slices.Clone(s.runs)
}

// drop removes the runs that have settled. The mutex is held.
func (s *settling) drop() {
	s.runs = slices.DeleteFunc(s.runs, func(r settlingRun) bool { return !time.Now().Before(r.until) })
}

// mustYield returns the settling runs if a browser is being launched, and none if not.
func (m *Manager) mustYield() []settlingRun {
	if len(m.startSem) == 0 {
		return nil
	}
	return m.settling.now()
}

// yieldToOthers asks the runs that must yield to do so. It does not wait for them.
func (m *Manager) yieldToOthers() {
	for _, r := range m.mustYield() {
		go r.client.Yield(m.ctx, time.Until(r.until)) //nolint:errcheck // the run may have ended, or be of an older version
	}
}
