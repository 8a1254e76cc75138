package runs

import (
	"context"
	"errors"
	"time"

	"warren/problem"
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
	var p *problem.Error
	if !errors.As(err, &p) || p.Kind.OfCaller() || p.Code == "proxy_unreachable" || p.Code == "capacity_exceeded" {
		r.to(ended)
		m.writeEnd(r.profileID, &pendingEnd{status: r.statusBefore})
		m.publishStatus(r, r.statusBefore)
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
