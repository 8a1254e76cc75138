package runs

import (
	"time"
	"warren/shim"
)

// forceTime is how long a run's process may take for a forced stop before it is killed.
const forceTime = 5 * time.Second

// supervise watches a running browser, stops it on request and records its end.
func (m *Manager) supervise(r *run) {
	stopc, killc := r.stopc, r.killc
	var timeout <-chan time.Time
	for !isClosed(r.client.Done()) {
		select {
		case <-r.client.Done():
		case <-stopc:
			if stopc = nil; killc != nil { // else a forced stop is under way, with its own timeout
				timeout = time.After(StopTime)
			}
			r.to(stopping)
			m.announce(r)
			go m.requestStop(r, false)
		case <-killc:
			killc, timeout = nil, time.After(forceTime)
			go m.requestStop(r, true)
		case n := <-r.client.Notices():
			m.onNotice(r, n)
		case <-timeout:
			timeout = nil
			m.log.Error("a run's process does not answer; it is killed", "profile", r.profileID, "run", r.id, "cause", r.client.Kill())
		case <-m.ctx.Done(): // the server stops; the shim lives on, or was stopped by Shutdown
			if !isClosed(r.client.Done()) {
				r.client.Release()
				m.release(r)
				return
			}
		}
	}
	r.mu.Lock()
	startedAt := r.answer.StartedAt
	r.mu.Unlock()
	m.finish(r, newEnd(r.id, startedAt, r.client.End()))
}

// requestStop sends a stop request to the run's shim. The owner sees the end by itself.
func (m *Manager) requestStop(r *run, force bool) {
	if _, err := r.client.Stop(m.ctx, force); err != nil && m.ctx.Err() == nil {
		m.log.Warn("a run's process refuses to stop", "profile", r.profileID, "run", r.id, "cause", err)
	}
}

// finish records and publishes the end of a run that had a browser.
func (m *Manager) finish(r *run, last *End) {
	restarts := m.hasSuccessor(r)
	m.recordAndRelease(r, last)
	m.publish(r, "run.ended", endedEvent{r.profileID, last.Reason, &restarts, r.id, last.Status})
	m.log.Info("run ended", "profile", r.profileID, "run", r.id, "reason", last.Reason, "method", last.Method, "exit", last.ExitCode)
}

// newEnd converts a shim's end report.
func newEnd(runID string, startedAt time.Time, e shim.End) *End {
	l := &End{RunID: runID, StartedAt: startedAt, EndedAt: e.EndedAt.UTC().Truncate(time.Millisecond), Status: "stopped",
		Reason: string(e.Outcome), Method: string(e.Method), ExitCode: e.ExitCode, Signal: e.Signal,
		BytesUp: e.BytesUp, BytesDown: e.BytesDown, ByRules: e.ByRules, Lines: e.Lines, traffic: e.Traffic, hosts: e.Hosts}
	if e.Outcome == shim.Failed {
		l.Reason = "crashed"
	}
	if e.Outcome == shim.Failed || e.Outcome == shim.Lost {
		l.Status = "failed"
	}
	l.DurationMs = max(0, l.EndedAt.Sub(l.StartedAt).Milliseconds()) // the clock may have been set back meanwhile
	return l
}

// onNotice handles a notice of the run's process.
func (m *Manager) onNotice(r *run, n shim.Notice) {
	if n.Reason == shim.ReasonMoved {
		m.proxyFailed(r, n)
		return
	}
	var ends *time.Time
	if n.EndsAt != nil {
		ends = new(n.EndsAt.UTC().Truncate(time.Millisecond))
	}
	m.publish(r, "run.expiring", expiringEvent{ends, r.profileID, n.Reason, r.id})
}
