package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"warren/events"
	"warren/pool"
	"warren/problem"
	"warren/shim"
	"warren/snapshots"
	"warren/store"
)

// Makes snapshots of profiles: when their runs end, before they are changed, and when somebody asks. Deletes temporary profiles.

// Snapshots returns the keeper of the profiles' data. Operations that change the data of a profile go through the manager.
func (m *Manager) Snapshots() *snapshots.Keeper { return m.snapshots }

// dueAfter returns what SetProfileStatus takes for a snapshot after a run's end; nil: a browser that was killed or that crashed
// may have left half-written files, so none is made.
func (m *Manager) dueAfter(end *End) *string {
	if end.Status != "stopped" || end.Method == "kill" {
		return nil
	}
	if m.cfg.NoSnapshots {
		return new("off")
	}
	return new("on")
}

// holdAfter makes a hold that follows a run, if its profile needs a snapshot or is to be deleted; else it returns nil. No other
// start comes between. A restart does both itself.
func (m *Manager) holdAfter(r *run) *run {
	row, err := m.store.Read().GetProfileAny(context.WithoutCancel(m.ctx), store.GetProfileAnyParams{ID: r.profileID})
	if err != nil || !row.SnapshotDue && !hasEnded(row) {
		return nil
	}
	hold := newHold(r.profileID)
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.successor != nil {
		return nil
	}
	r.successor = hold
	m.wg.Add(1)
	return hold
}

// hasEnded reports whether a profile is temporary and its run has ended.
func hasEnded(row store.Profile) bool {
	return row.Temporary && row.LastStartedAt != 0 && (row.Status == "stopped" || row.Status == "failed")
}

// afterRun does what follows a profile's run. The caller holds the profile.
func (m *Manager) afterRun(ctx context.Context, profileID string) {
	row, err := m.store.Read().GetProfileAny(ctx, store.GetProfileAnyParams{ID: profileID})
	switch {
	case err != nil, m.IsElsewhere(row):
	case hasEnded(row):
		err = m.eraseTemporary(context.WithoutCancel(ctx), row)
	case row.SnapshotDue:
		err = m.saveDue(ctx, profileID)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrNoRow) {
		m.log.Warn("what follows a run is done later", "profile", profileID, "cause", err)
	}
}

// saveDue makes the snapshot of a stop. One that fails stays due, and the sweep tries again.
func (m *Manager) saveDue(ctx context.Context, profileID string) error {
	_, _, err := m.save(ctx, profileID, snapshots.Request{Reason: snapshots.Stop})
	if problem.HasCode(err, "profile_empty") {
		return m.store.Write(ctx, func(q *store.Queries) error { return store.ErrorOf(q.ClearSnapshotDue(ctx, profileID)) })
	}
	return err
}

// save makes a snapshot. The caller holds the profile.
func (m *Manager) save(ctx context.Context, profileID string, r snapshots.Request) (s store.Snapshot, made bool, err error) {
	unlock, err := m.lockFolder(profileID)
	if err != nil {
		return s, false, err
	}
	defer unlock()
	return m.snapshots.Save(ctx, profileID, r)
}

// lockFolder takes the lock that a run's process holds. A profile without a folder has none.
func (m *Manager) lockFolder(profileID string) (unlock func(), err error) {
	dir := m.profileDir(profileID)
	if isMissing(dir) {
		return func() {}, nil
	}
	unlock, err = shim.LockFolder(dir)
	if err != nil {
		return nil, m.startProblem(err)
	}
	return unlock, nil
}

// eraseTemporary deletes a temporary profile whose run has ended. The caller holds it.
func (m *Manager) eraseTemporary(ctx context.Context, row store.Profile) error {
	err := m.removeProfile(ctx, row.ID, func(q *store.Queries) error {
		now, err := q.GetProfileAny(ctx, store.GetProfileAnyParams{ID: row.ID})
		if err == nil && !hasEnded(now) { // somebody wants to keep it
			return errKept
		}
		if err == nil {
			_, err = q.DeleteProfile(ctx, store.DeleteProfileParams{ID: row.ID})
		}
		if err != nil {
			return err
		}
		return q.Record(store.ByServer("profile.delete", row.WorkspaceID, row.ID, map[string]any{"permanent": true, "reason": "temporary"}))
	})
	if errors.Is(err, errKept) || errors.Is(err, store.ErrNoRow) {
		return nil
	}
	if err == nil {
		m.events.Publish(events.Event{Type: "profile.deleted", Workspace: row.WorkspaceID, Data: DeletedEvent{row.ID, true}})
		m.log.Info("a temporary profile was deleted", "profile", row.ID)
	}
	return err
}

var errKept = errors.New("the profile is kept")

// sweepAtOnce is how many profiles one sweep handles.
const sweepAtOnce = 100

// sweepData makes snapshots that are due, deletes temporary profiles, and once an hour what no snapshot needs.
func (m *Manager) sweepData(ctx context.Context, clockTrusted bool) error {
	due, err1 := m.store.Read().ListSnapshotsDue(ctx, store.ListSnapshotsDueParams{NodeID: m.cfg.Node, Limit: sweepAtOnce})
	ended, err2 := m.store.Read().ListTemporaryEnded(ctx, store.ListTemporaryEndedParams{NodeID: m.cfg.Node, Limit: sweepAtOnce})
	for _, id := range append(due, ended...) {
		release, _, err := m.tryHold(id)
		if release == nil || err != nil {
			continue // it runs, and its end does it
		}
		m.afterRun(ctx, id)
		release()
	}
	err := errors.Join(err1, err2, m.sweepDeletions(ctx))
	if clockTrusted && time.Since(m.collected) > time.Hour {
		m.collected = time.Now()
		err = errors.Join(err, m.snapshots.Collect(ctx))
	}
	return err
}

// preparedData is what a start knows of its profile's data.
type preparedData struct {
	warnings  []Warning
	cookieKey []byte             // what the cookies are sealed with; nil: they are not kept
	clear     *shim.ClearOptions // what an offline run clears; nil: nothing
	restore   bool               // the kept cookies take the place of Chrome's own file
	pending   bool               // cookies wait for this start

	passkeyKey []byte // what the passkeys are sealed with
}

// prepareData makes a profile's folder ready for a start, and looks for damage. If its data had to be loaded although it has run
// before, the start says so. The error is profile_damaged.
func (m *Manager) prepareData(ctx context.Context, row store.Profile, o Options) (d preparedData, err error) {
	if err := m.place(ctx, row); err != nil {
		return d, err
	}
	if d.warnings, err = m.loadData(ctx, row, o); err != nil {
		return d, err
	}
	if d.passkeyKey, err = m.snapshots.PasskeyKey(ctx, row.WorkspaceID, shim.PasskeyKeySize); err != nil {
		return d, err
	}
	var kept *shim.KeptCookies
	if !row.Temporary { // its data are deleted when its run has ended, however that is
		if d.cookieKey, err = m.snapshots.CookieKey(ctx, row.WorkspaceID, row.ID, shim.CookieKeySize); err != nil {
			return d, err
		}
		if kept, err = shim.ReadCookies(m.profileDir(row.ID), row.ID, d.cookieKey); err != nil {
			m.log.Warn("the cookies that were kept of a run cannot be used", "profile", row.ID, "cause", err)
		}
	}
	if err := m.inspectData(ctx, row, o, kept, &d); err != nil || row.Temporary {
		return d, err
	}
	if d.pending = shim.CookiesPend(m.profileDir(row.ID), row.ID, d.cookieKey); d.pending {
		return d, nil
	}
	w, err := m.settleStateWrite(ctx, row, d)
	if w.Code != "" {
		d.warnings = append(d.warnings, w)
	}
	d.restore = d.restore && err == nil
	return d, err
}

// loadData loads a profile's data if its folder is gone. If their snapshot is gone too, a repair takes the newest that opens.
func (m *Manager) loadData(ctx context.Context, row store.Profile, o Options) ([]Warning, error) {
	loaded, err := m.snapshots.Prepare(ctx, row)
	switch {
	case o.Repair && problem.HasCode(err, "snapshot_damaged"):
		w, _, err := m.repair(ctx, row, []snapshots.Damage{{File: ".", Problem: "The folder is gone, and so is its snapshot."}}, false)
		return []Warning{w}, err
	case err == nil && loaded != nil && row.LastStartedAt != 0:
		return []Warning{{"data_restored", "The profile's folder was gone. Its data are those of the snapshot of " +
			momentOf(loaded.CreatedAt) + "."}}, nil
	}
	return nil, err
}

// inspectData looks at the data of a profile that is about to start. The caller holds it. Lost cookies are replaced by those that were
// kept while it ran.
func (m *Manager) inspectData(ctx context.Context, row store.Profile, o Options, kept *shim.KeptCookies, d *preparedData) error {
	how := inspectionOf(row, bootTime())
	how.Cookies, how.Own = kept != nil, ownFile(row, d.passkeyKey)
	damage, err := m.snapshots.Damages(ctx, row, how)
	switch {
	case err != nil || len(damage) == 0:
		return err
	case kept != nil && len(damage) == 1 && damage[0].Cookies():
		where, err := m.snapshots.SetAside(row.ID, damage)
		d.restore = err == nil
		d.warnings = append(d.warnings, restoredWarning(kept, damage[0], where))
		return err
	case o.Repair:
		w, left, err := m.repair(ctx, row, damage, o.SetAside)
		if err != nil {
			return err
		}
		d.warnings = append(d.warnings, w)
		d.restore = left && kept != nil && slices.ContainsFunc(damage, snapshots.Damage.Cookies)
		return nil
	}
	return m.damaged(ctx, row, damage, false)
}

// damaged is the error for damaged data. tried says that no snapshot opens.
func (m *Manager) damaged(ctx context.Context, row store.Profile, damage []snapshots.Damage, tried bool) (err error) {
	var all []store.Snapshot
	if !tried {
		if all, err = m.snapshots.List(ctx, store.All(), row.ID); err != nil {
			return err
		}
	}
	m.log.Warn("a profile's data are damaged; it is not started", "profile", row.ID, "damage", describeDamage(damage))
	return ProfileDamaged(DamagedData{damage, all, row.HeadID}, tried)
}

// repair goes back to the newest snapshot that opens. With mayLeave it goes on without what is damaged if there is none, and says that it
// did.
func (m *Manager) repair(ctx context.Context, row store.Profile, damage []snapshots.Damage, mayLeave bool) (w Warning, left bool,
	err error) {
	unlock, err := m.lockFolder(row.ID)
	if err != nil {
		return w, false, err
	}
	defer unlock()
	key, err := m.snapshots.PasskeyKey(ctx, row.WorkspaceID, shim.PasskeyKeySize)
	if err != nil {
		return w, false, err
	}
	done, err := m.snapshots.Repair(context.WithoutCancel(ctx), row, ownFile(row, key))
	switch {
	case err != nil:
		return w, false, err
	case done == nil && !mayLeave:
		return w, false, m.damaged(ctx, row, damage, true)
	case done == nil:
		where, err := m.snapshots.SetAside(row.ID, damage)
		if err != nil {
			return w, false, err
		}
		m.log.Warn("a profile's data were damaged, and were set aside", "profile", row.ID, "damage", describeDamage(damage),
			"folder", where)
		return setAsideWarning(damage, where), true, nil
	}
	m.forgetCookies(row.ID)
	m.log.Warn("a profile's data were damaged, and were rolled back", "profile", row.ID, "damage", describeDamage(damage),
		"snapshot", done.To.ID)
	return repairedWarning(done, damage), false, nil
}

// holdAtRest prevents a profile from starting that does not run. It waits for what goes on with its data. The error is
// profile_running.
func (m *Manager) holdAtRest(ctx context.Context, profileID string) (release func(), err error) {
	for {
		release, have, err := m.tryHold(profileID)
		if err != nil || release != nil {
			return release, err
		}
		if !have.isHold {
			return nil, StillRunning()
		}
		select {
		case <-have.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// StillRunning is the error for an operation on the data of a profile that runs.
func StillRunning() *problem.Error {
	return problem.New(problem.Conflict, "profile_running", "The profile is running, and its browser changes its data. Stop it first, "+
		"then try again.")
}

// Snapshot makes a snapshot of a profile that does not run. With restart one that runs is closed first, and started again.
func (m *Manager) Snapshot(ctx context.Context, row store.Profile, r snapshots.Request, restart bool, asker Asker) (
	store.Snapshot, error) {
	ran := false
	hold := m.holdAtRest
	if restart {
		ran = m.runOf(row.ID) != nil
		hold = m.Hold
	}
	release, err := hold(ctx, row.ID)
	if err != nil {
		return store.Snapshot{}, err
	}
	err = m.setPending(ctx, row.ID)
	var s store.Snapshot
	if err == nil {
		s, _, err = m.save(ctx, row.ID, r)
	}
	release()
	if ran {
		_, started := m.Start(ctx, row, Options{Asker: asker})
		err = errors.Join(err, started)
	}
	return s, err
}

// LiveSnapshot makes a snapshot of a profile whose browser runs. torn are the files of it that may be damaged. A profile that does not
// run is kept as Snapshot does.
func (m *Manager) LiveSnapshot(ctx context.Context, row store.Profile, r snapshots.Request) (s store.Snapshot, torn []string, err error) {
	run, _, err := m.runningProcess(row.ID)
	if err != nil {
		return s, nil, err
	}
	if run == nil {
		s, err = m.Snapshot(ctx, row, r, false, Asker{})
		return s, nil, err
	}
	copying, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(m.ctx, func() { cancel(pool.Stopping()) })
	defer stop()
	go func() { // what follows an end may replace the folder
		select {
		case <-run.done:
			cancel(errEnded())
		case <-copying.Done():
		}
	}()
	s, torn, err = m.snapshots.SaveLive(copying, row, r)
	if cause := context.Cause(copying); err != nil && ctx.Err() == nil && cause != nil {
		err = cause
	}
	return s, torn, err
}

// errEnded is the error for a live snapshot whose browser ended meanwhile.
func errEnded() *problem.Error {
	return problem.New(problem.Conflict, "profile_busy", "The browser ended while its data were copied. Its stop keeps a snapshot, or ask "+
		"for one again.")
}

// Rollback makes the data of a profile that does not run those of a snapshot. kept is the snapshot of what they were before; nil
// if there were none.
func (m *Manager) Rollback(ctx context.Context, profileID string, to store.Snapshot) (kept *store.Snapshot, err error) {
	release, err := m.holdAtRest(ctx, profileID)
	if err != nil {
		return nil, err
	}
	defer release()
	unlock, err := m.lockFolder(profileID)
	if err != nil {
		return nil, err
	}
	defer unlock()
	kept, err = m.snapshots.Rollback(ctx, profileID, to)
	if err == nil {
		m.forgetCookies(profileID)
	}
	return kept, err
}

// forgetCookies removes the cookies and the writes that were kept of a run whose data are replaced.
func (m *Manager) forgetCookies(profileID string) {
	dir := m.profileDir(profileID)
	if err := errors.Join(shim.ForgetCookies(dir), shim.ForgetState(dir)); err != nil {
		m.log.Warn("the cookies that were kept of a run stay until the next start", "profile", profileID, "cause", err)
	}
}

// DataOf returns the snapshot that equals a profile's data now, for a clone. The profile must not run.
func (m *Manager) DataOf(ctx context.Context, profileID string) (store.Snapshot, error) {
	release, err := m.holdAtRest(ctx, profileID)
	if err != nil {
		return store.Snapshot{}, err
	}
	defer release()
	if err := m.setPending(ctx, profileID); err != nil {
		return store.Snapshot{}, err
	}
	s, _, err := m.save(ctx, profileID, snapshots.Request{Reason: snapshots.Asked})
	return s, err
}

// keepBeforeDowngrade keeps the data of a profile that an older browser is to open. Only the run's owner calls it, so nothing
// else starts the profile.
func (m *Manager) keepBeforeDowngrade(ctx context.Context, p *plan) error {
	if p.lastOpened == "" {
		return nil
	}
	s, _, err := m.save(ctx, p.row.ID, snapshots.Request{Reason: snapshots.BeforeDowngrade, Pinned: true, Always: true})
	if err != nil {
		return err
	}
	m.log.Info("a profile was kept before an older browser opens it", "profile", p.row.ID, "from", p.lastOpened, "to",
		p.installed.Version, "snapshot", s.ID)
	p.warnings = append(p.warnings, Warning{"downgraded", fmt.Sprintf("The profile was last opened with version %s, and an older "+
		"browser may damage or lose what that one wrote. Its data from before are in the snapshot %s; roll back to it to return.",
		p.lastOpened, s.ID)})
	return nil
}

// settleFolders ends the loads that a crash interrupted, also of profiles that nobody starts.
func (m *Manager) settleFolders(entries []os.DirEntry) {
	for _, e := range entries {
		id, _, beside := strings.Cut(e.Name(), ".")
		if !beside || id == "" {
			continue
		}
		if err := m.snapshots.Settle(id); err != nil && !errors.Is(err, fs.ErrNotExist) {
			m.log.Warn("a profile's folder was being replaced, and cannot be set right", "folder", e.Name(), "cause", err)
		}
	}
}

// afterStop makes the snapshot of a run that a restart has closed.
func (m *Manager) afterStop(ctx context.Context, profileID string) {
	row, err := m.store.Read().GetProfileAny(ctx, store.GetProfileAnyParams{ID: profileID})
	if err == nil && row.SnapshotDue {
		err = m.saveDue(ctx, profileID)
	}
	if err != nil && ctx.Err() == nil {
		m.log.Warn("the snapshot of a stop is made later", "profile", profileID, "cause", err)
	}
}
