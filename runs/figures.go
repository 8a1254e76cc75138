package runs

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"warren/tally"
)

// Says what the manager has counted, and asks runs what they use.

// Figures are the counts of a manager since it was made, and the state of its runs.
type Figures struct {
	Starting, Running, Stopping int
	Frozen                      int // of Running
	Launching, Warm             int
	Queued, Refused             int64                      // starts
	Starts                      map[string]int64           // by result: ok, or the code of the problem
	Ends                        map[string]int64           // by reason
	Phases                      map[string]tally.Durations // of starts that succeeded, by phase
	Took, Waited                tally.Durations            // of starts that succeeded; from the queue to the launch
	Totals                      Totals
}

// reportAge is how old the sums may be. Runs are asked in the background, so that no reader of the figures waits for them.
const reportAge = 15 * time.Second

// askAll asks all runs for a report, unless it did so lately.
func (m *Manager) askAll() {
	t := &m.tally
	t.mu.Lock()
	due := time.Since(t.asked) >= reportAge && len(t.living) > 0
	var all []*run
	if due {
		t.asked = time.Now()
		all = slices.Collect(maps.Keys(t.living))
	}
	t.mu.Unlock()
	if !due {
		return
	}
	m.inBackground(func() {
		var wg sync.WaitGroup
		turns := make(chan struct{}, askedAtOnce)
		for _, r := range all {
			turns <- struct{}{}
			wg.Go(func() {
				defer func() { <-turns }()
				m.askOne(r)
			})
		}
		wg.Wait()
	})
}

// askedAtOnce is how many runs are asked at the same time.
const askedAtOnce = 16

// askOne asks a run's process for a report, and the kernel for what its group has used.
func (m *Manager) askOne(r *run) {
	if m.groups.tree.Counts() {
		m.tally.used(r, r.group().Usage())
	}
	client, err := r.process()
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(m.ctx, statsTime)
	defer cancel()
	if s, err := client.Stats(ctx); err == nil {
		m.tally.report(r, *s)
	}
}

// Figures returns what the manager has counted. The sums of runs are at most two readings old: reading asks for new ones.
func (m *Manager) Figures() Figures {
	m.askAll()
	f := Figures{Launching: len(m.startSem), Warm: m.warm.countReady(), Queued: m.queued.Load(), Refused: m.queue.refused.Load(),
		Starts: m.tally.starts.All(), Ends: m.tally.ends.All(), Phases: m.tally.phases.Read(), Took: m.tally.took.Read(),
		Waited: m.tally.queued.Read(), Totals: m.tally.totals()}
	c := &m.census
	f.Starting, f.Running, f.Stopping, f.Frozen = count(&c.at[starting]), count(&c.at[running]), count(&c.at[stopping]), count(&c.frozen)
	return f
}
