package runs

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"warren/shim"
	"warren/store"
)

// Records how runs and starts ended. An end that cannot be written, as on a full disk, counts at once and is written
// later.

// pendingEnd is an end that could not be written: that of a run, or the status after a failed start.
type pendingEnd struct {
	name       string // base name of the run's files; "" for a start that failed
	end        *End   // nil: only status is to be written
	status     string // used if end is nil
	superseded bool   // the end of a later run is already written, so the profile's status and last run stay
}

// StatusAtRest returns the status of a profile without a run. If the row says starting or stopping, that start or stop
// was cut short, and the result of the last run counts.
func StatusAtRest(row store.Profile) string {
	if row.Status != "starting" && row.Status != "stopping" {
		return row.Status
	}
	var last End
	if row.LastRun != nil && json.Unmarshal([]byte(*row.LastRun), &last) == nil && last.Status == "failed" {
		return "failed"
	}
	return "stopped"
}

// StatusElse returns the status of a profile without a run here. That of a profile whose data another server has is the database's.
func (m *Manager) StatusElse(row store.Profile) string {
	if m.IsElsewhere(row) {
		return row.Status
	}
	return StatusAtRest(row)
}

// statusWithPending returns the status of a profile without a run. Pending ends override resting, the status in the
// database.
func statusWithPending(pending []*pendingEnd, resting string) string {
	for i := len(pending) - 1; i >= 0; i-- {
		switch o := pending[i]; {
		case o.superseded:
		case o.end == nil:
			return o.status
		default:
			return o.end.Status
		}
	}
	return resting
}

// pendingEndOf returns a run's end that is not written yet; nil if there is none.
func (m *Manager) pendingEndOf(profileID, runID string) *End {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.pendingEnds[profileID] {
		if o.end != nil && o.end.RunID == runID {
			return o.end
		}
	}
	return nil
}

// recordAndRelease records the end of a run or its start, then releases the run.
func (m *Manager) recordAndRelease(r *run, end *End) {
	m.writeEnd(r.profileID, &pendingEnd{name: r.name, end: end})
	r.mu.Lock()
	r.endReport = end
	r.mu.Unlock()
	next := m.holdAfter(r)
	m.release(r)
	if next != nil {
		go func() {
			defer m.release(next)
			m.afterRun(m.ctx, r.profileID)
		}()
	}
}

// retryEvery is the pause before pending ends are tried again.
const retryEvery = time.Second

// writeEnd writes the end of a run or its start. If the write fails, the end becomes pending and is tried again each second. The shim's
// own report stays for the next server.
func (m *Manager) writeEnd(profileID string, o *pendingEnd) {
	if m.flushOne(profileID, o) == nil {
		m.dropFlushed(profileID, o)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pendingEnds[profileID] = append(m.pendingEnds[profileID], o)
	if !m.retrying && !m.closing {
		m.retrying = true
		m.wg.Go(m.retryPending)
	}
}

// retryPending writes pending ends until none is left. What prevented it is mostly a database that did not answer.
func (m *Manager) retryPending() {
	tick := time.NewTicker(retryEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-m.ctx.Done():
			return
		}
		m.flushPending("")
		m.mu.Lock()
		m.retrying = len(m.pendingEnds) > 0
		goesOn := m.retrying
		m.mu.Unlock()
		if !goesOn {
			return
		}
	}
}

// dropFlushed removes an end that was written. Older pending ends are marked superseded, or dropped if they are only a
// status.
func (m *Manager) dropFlushed(profileID string, o *pendingEnd) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var left []*pendingEnd
	older := true
	for _, x := range m.pendingEnds[profileID] {
		switch {
		case x == o:
			older = false
			continue
		case older && !o.superseded && x.end == nil: // only the newest status counts
			continue
		case older && !o.superseded && o.end != nil:
			x.superseded = true
		}
		left = append(left, x)
	}
	if m.pendingEnds[profileID] = left; len(left) == 0 {
		delete(m.pendingEnds, profileID)
	}
}

// flushOne writes one end, then deletes the run's files.
func (m *Manager) flushOne(profileID string, o *pendingEnd) error {
	var err error
	switch {
	case o.end == nil:
		err = m.recordStatus(profileID, o.status)
	case o.superseded:
		err = m.writeState(func(ctx context.Context, q *store.Queries) error { return endAndTrim(ctx, q, profileID, o.end) })
	default:
		err = m.recordEnd(profileID, o.end)
	}
	if err == nil && o.name != "" {
		shim.Forget(m.dir, o.name)
	}
	return err
}

// maxPastRuns is how many runs a profile's history holds.
const maxPastRuns = 100

// recordEnd writes a run's end and the profile's status, and trims the history.
func (m *Manager) recordEnd(profileID string, end *End) error {
	text, err := json.Marshal(end)
	if err != nil {
		return err
	}
	bytes := folderBytes(m.profileDir(profileID))
	return m.writeState(func(ctx context.Context, q *store.Queries) error {
		if err := endAndTrim(ctx, q, profileID, end); err != nil {
			return err
		}
		return store.ErrorOf(q.SetProfileStatus(ctx, store.SetProfileStatusParams{ID: profileID, Status: end.Status, NodeID: m.cfg.Node,
			LastRun: new(string(text)), DiskBytes: &bytes, Due: m.dueAfter(end)}))
	})
}

func endAndTrim(ctx context.Context, q *store.Queries, profileID string, end *End) error {
	if err := endRun(ctx, q, end); err != nil {
		return err
	}
	return store.ErrorOf(q.TrimRunsOfProfile(ctx, store.TrimRunsOfProfileParams{ProfileID: profileID, Keep: maxPastRuns}))
}

// flushPending writes the pending ends of one profile, or with "" of all profiles that do not run. A start calls it for
// its profile first.
func (m *Manager) flushPending(profileID string) {
	m.flushing.Lock() // a start waits for the sweep, which could otherwise overwrite the start's status
	defer m.flushing.Unlock()
	m.mu.Lock()
	due := map[string][]*pendingEnd{}
	for id, all := range m.pendingEnds {
		if id == profileID || profileID == "" && m.byProfile[id] == nil {
			due[id] = all
		}
	}
	m.mu.Unlock()
	for id, all := range due {
		for _, o := range all {
			if m.flushOne(id, o) == nil {
				m.dropFlushed(id, o)
			}
		}
	}
}

func (m *Manager) recordStatus(profileID, status string) error {
	return m.writeState(func(ctx context.Context, q *store.Queries) error {
		return store.ErrorOf(q.SetProfileStatus(ctx, store.SetProfileStatusParams{ID: profileID, Status: status, NodeID: m.cfg.Node}))
	})
}

// rememberStatus stores the profile's status before the start, for the case that the start fails.
func (m *Manager) rememberStatus(ctx context.Context, r *run) {
	row, err := m.store.Read().GetProfile(context.WithoutCancel(ctx), store.GetProfileParams{ID: r.profileID})
	m.mu.Lock()
	pending := m.pendingEnds[r.profileID]
	m.mu.Unlock()
	if err == nil && statusWithPending(pending, StatusAtRest(row)) == "failed" {
		r.statusBefore = "failed"
	}
}

func (m *Manager) writeState(fn func(context.Context, *store.Queries) error) error {
	ctx := context.WithoutCancel(m.ctx)
	err := m.store.Write(ctx, func(q *store.Queries) error { return fn(ctx, q) })
	if err != nil {
		m.log.Error("a run's state could not be written", "cause", err)
	}
	return err
}

// folderBytes returns the total size of the files below dir, in bytes.
func folderBytes(dir string) (sum int64) {
	filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error { //nolint:errcheck // unreadable files count as empty
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

func (m *Manager) profileDir(id string) string { return filepath.Join(m.cfg.Data, "profiles", id) }
