package runs

import (
	"context"
	"errors"
	"time"

	"warren/problem"
	"warren/shim"
)

// Owns a run from its plan to its recorded end.

// life is the one owner of a run: it plans, queues, launches and records the run, then supervises it to its end. Changes
// that arrive before the start is answered are reconciled first.
func (m *Manager) life(ctx context.Context, r *run, o Options, makePlan func() (*plan, error)) {
	defer r.cancel()
	p, err := makePlan()
	if err == nil {
		err = m.enterStartQueue(r)
	}
	if err != nil { // nothing has begun, so the profile keeps its status
		r.err = err
		m.release(r)
		close(r.ready)
		return
	}
	p.spec.RunID, p.spec.Name = r.id, r.name
	if err := m.launch(ctx, r, p); err != nil {
		r.err = err
		m.recordFailedStart(r, err)
		close(r.ready)
		return
	}
	m.reconcile(m.ctx, r, Change{FollowProfile: !o.Proxy.Set})
	if r.pendingCheck != nil && !isClosed(r.pendingCheck.done) { // the start did not wait for the check
		m.reconcileAfterCheck(r, r.pendingCheck)
	}
	close(r.ready)
	m.supervise(r)
}

// recordFailedStart records a start that failed. If no browser was launched, the profile returns to its former status.
func (m *Manager) recordFailedStart(r *run, err error) {
	p, ok := errors.AsType[*problem.Error](err)
	if !ok || p.Kind.OfCaller() || p.Code == "proxy_unreachable" || p.Code == "capacity_exceeded" {
		r.to(ended)
		m.writeEnd(r.profileID, &pendingEnd{status: r.statusBefore})
		m.publish(r, "profile.status", statusEvent{r.profileID, r.statusBefore})
		m.release(r)
		return
	}
	at := time.Now().UTC().Truncate(time.Millisecond)
	end := &End{RunID: r.id, StartedAt: at, EndedAt: at, Status: "failed", Reason: "start_failed"}
	if output, ok := p.Details.(LastWords); ok {
		end.Lines = output.Lines
		if output.ExitCode != nil {
			end.ExitCode = *output.ExitCode
		}
	}
	m.recordAndRelease(r, end)
	m.publish(r, "run.ended", endedEvent{ID: r.profileID, Reason: "start_failed", RunID: r.id, Status: "failed"})
	m.log.Warn("a start failed", "profile", r.profileID, "run", r.id, "code", p.Code, "cause", err)
}

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
