package runs

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"warren/problem"
	"warren/shim"
	"warren/store"
)

// Opens a profile that does not run, without a network, for the sake of its state. It is no run for others: nobody can watch or drive it,
// and the profile's status stays. The history has it, marked as offline.

// offlineGrace is how long such a browser lives without its server.
const offlineGrace = time.Second

// withBrowser calls do with the process of the profile's browser. One that does not run is opened offline, and closed again before
// withBrowser returns. If a running one ends meanwhile, do is called again without it.
func (m *Manager) withBrowser(ctx context.Context, row store.Profile, do func(*shim.Client) error) error {
	return m.withProfile(ctx, row, do, func() error { return m.openAtRest(ctx, row, nil, do) })
}

// withProfile calls do with the process of a profile's running browser, or atRest while the profile does not run and cannot be started. If
// a browser ends meanwhile, atRest is called after do.
func (m *Manager) withProfile(ctx context.Context, row store.Profile, do func(*shim.Client) error, atRest func() error) error {
	for {
		run, client, err := m.runningProcess(row.ID)
		if err != nil {
			return err
		}
		if run != nil {
			err = do(client)
			if err == nil || client.Alive(ctx) || ctx.Err() != nil {
				return err
			}
			select {
			case <-run.done:
				continue
			case <-ctx.Done():
				return err
			}
		}
		release, err := m.holdAtRest(ctx, row.ID)
		if problem.HasCode(err, "profile_running") { // it was started meanwhile
			continue
		}
		if err != nil {
			return err
		}
		defer release()
		return atRest()
	}
}

// openAtRest opens a profile offline that its caller holds. The row is read again: its run may have ended since. clear is what the run
// clears; nil: nothing.
func (m *Manager) openAtRest(ctx context.Context, row store.Profile, clear *shim.ClearOptions, do func(*shim.Client) error) error {
	row, err := m.profile(ctx, store.All(), row.ID)
	if err != nil {
		return err
	}
	data, err := m.prepareData(ctx, row, Options{})
	if err != nil {
		return err
	}
	data.clear = clear
	return m.openOffline(ctx, row, data, do)
}

// openOffline opens a profile's browser without a network, calls do, and closes it. The caller holds the profile.
func (m *Manager) openOffline(ctx context.Context, row store.Profile, data preparedData, do func(*shim.Client) error) error {
	spec, browser, err := m.offlineSpec(ctx, row)
	if err != nil {
		return err
	}
	spec.CookieKey, spec.RestoreCookies, spec.Clear = data.cookieKey, data.restore, data.clear
	spec.PendingCookies, spec.PasskeyKey = data.pending, data.passkeyKey
	release, err := m.claimStarting(ctx)
	if err != nil {
		return err
	}
	began := time.Now().UTC()
	client, _, err := m.spares.Launch(ctx, spec)
	release()
	if err != nil {
		return m.startProblem(err)
	}
	failed := do(client)
	end, err := client.Stop(context.WithoutCancel(ctx), false)
	if err != nil {
		m.log.Error("a browser without a network does not end", "profile", row.ID, "run", spec.RunID, "cause", err)
		return errors.Join(failed, m.startProblem(err))
	}
	shim.Forget(m.dir, spec.Name)
	last := newEnd(spec.RunID, began, end)
	if err := m.recordOffline(ctx, row, last, browser); err != nil {
		m.log.Warn("a run without a network is not in the history", "profile", row.ID, "cause", err)
	}
	if failed == nil && (last.Status != "stopped" || last.Method == "kill") {
		failed = m.startProblem(&shim.Failure{Kind: "failed", Message: "the browser ended before it had written everything",
			ExitCode: end.ExitCode, Lines: end.Lines, Signal: end.Signal})
	}
	return failed
}

// offlineSpec describes a run without a network. Of the profile's settings it has only the browser: the others are of pages, and there are
// none.
func (m *Manager) offlineSpec(ctx context.Context, row store.Profile) (spec shim.Spec, b UsedBrowser, err error) {
	p := &plan{row: row}
	installed, err := m.chooseBrowser(ctx, p, false)
	if err != nil {
		return spec, b, err
	}
	runID := store.NewID()
	spec = shim.Spec{RunID: runID, ProfileID: row.ID, Name: Name(runID), BrowserPath: installed.Path, Product: installed.Product,
		Version: installed.Version, ProfileDir: m.profileDir(row.ID), RunDir: m.dir, Headless: true, Offline: true, WebRTC: "proxy_only",
		Protected: m.cfg.Protected, ReadOnly: m.cfg.ReadOnly, Timeout: m.cfg.StartTimeout, Grace: offlineGrace}
	if m.cfg.RequireIsolation {
		spec.Network, spec.Files = shim.Namespace, shim.Namespace
	}
	return spec, UsedBrowser{Product: installed.Product, Version: installed.Version, Path: installed.Path, Match: p.match}, nil
}

// recordOffline writes a run without a network into the history, and has a snapshot made of what it left. The profile's status stays.
func (m *Manager) recordOffline(ctx context.Context, row store.Profile, last *End, b UsedBrowser) error {
	began, err := json.Marshal(ranWith{Headless: new(true), Browser: &b, Offline: true})
	if err != nil {
		return err
	}
	bytes := folderBytes(m.profileDir(row.ID))
	return m.store.Write(context.WithoutCancel(ctx), func(q *store.Queries) error {
		err := q.InsertRun(ctx, store.InsertRunParams{ID: last.RunID, ProfileID: row.ID, StartedAt: last.StartedAt.UnixMilli(),
			Record: string(began)})
		if err != nil {
			return err
		}
		if err := endAndTrim(ctx, q, row.ID, last); err != nil {
			return err
		}
		now, err := q.GetProfileAny(ctx, store.GetProfileAnyParams{ID: row.ID})
		if err != nil {
			return err
		}
		return store.ErrorOf(q.SetProfileStatus(ctx, store.SetProfileStatusParams{ID: row.ID, Status: now.Status, DiskBytes: &bytes,
			Due: m.dueAfter(last), NodeID: m.cfg.Node}))
	})
}

// stateProblem is the error for a browser that does not read or write its state; nil for nil.
func stateProblem(err error) error {
	if err == nil {
		return nil
	}
	return problem.New(problem.Unavailable, "browser_failed", "The profile's browser did not read or write its state. Try again.").
		Because(err)
}

// settleStateWrite makes a write again that a crash has cut off. The caller holds the profile.
func (m *Manager) settleStateWrite(ctx context.Context, row store.Profile, data preparedData) (Warning, error) {
	pending, err := shim.PendingState(m.profileDir(row.ID), row.ID, data.cookieKey)
	if err != nil {
		m.log.Warn("a change of a profile's state was cut off, and is given up", "profile", row.ID, "cause", err)
		return Warning{"state_incomplete",
			"A change of the profile's cookies or storage was cut off, and could not be completed. Make it again."}, nil
	}
	if !pending {
		return Warning{}, nil
	}
	m.log.Info("a change of a profile's state was cut off, and is made again", "profile", row.ID)
	return Warning{}, m.openOffline(ctx, row, data, func(c *shim.Client) error {
		_, err := c.RedoState(ctx)
		return stateProblem(err)
	})
}

// setPending has a browser without a network set the cookies that wait for a start, so that a copy of the data has them. The caller holds
// the profile.
func (m *Manager) setPending(ctx context.Context, profileID string) error {
	if isMissing(m.profileDir(profileID)) {
		return nil
	}
	row, err := m.store.Read().GetProfileAny(ctx, store.GetProfileAnyParams{ID: profileID})
	if err != nil || row.Temporary {
		return err
	}
	key, err := m.snapshots.CookieKey(ctx, row.WorkspaceID, row.ID, shim.CookieKeySize)
	if err != nil || !shim.CookiesPend(m.profileDir(row.ID), row.ID, key) {
		return err
	}
	data, err := m.prepareData(ctx, row, Options{})
	if err != nil || !data.pending {
		return err
	}
	return m.openOffline(ctx, row, data, func(*shim.Client) error { return nil })
}
