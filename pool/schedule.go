package pool

import (
	"context"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"warren/store"
)

// Every is the interval of scheduled checks. 0: none.
type Every struct {
	all time.Duration
	of  map[string]time.Duration // by workspace, overriding all
}

// The limits of --check-every.
const (
	minEvery = time.Second
	maxEvery = 30 * 24 * time.Hour
)

// ParseEvery reads the values of --check-every: TIME, or WORKSPACE=TIME. It calls add for each fault.
func ParseEvery(values []string, add func(string, ...any)) Every {
	e := Every{of: map[string]time.Duration{}}
	for _, v := range values {
		workspace, text, own := strings.Cut(v, "=")
		if !own {
			text = v
		}
		d, err := time.ParseDuration(text)
		switch {
		case err != nil || d != 0 && (d < minEvery || d > maxEvery):
			add("--check-every %q must be a time from %v to %v such as 30m, or 0, or WORKSPACE=TIME", v, minEvery, maxEvery)
		case own && !store.IsWorkspaceID(workspace):
			add("--check-every %q names no workspace: an id has 1 to 64 of A-Z a-z 0-9 . _ -", v)
		case own:
			e.of[workspace] = d
		default:
			e.all = d
		}
	}
	return e
}

// in returns the interval of a workspace.
func (e Every) in(workspace string) time.Duration {
	if d, own := e.of[workspace]; own {
		return d
	}
	return e.all
}

// shortest returns the shortest of all intervals; 0 if nothing is scheduled.
func (e Every) shortest() (least time.Duration) {
	least = e.all
	for _, d := range e.of {
		if d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}

// jitter is the largest deviation of a check's time, as a part of the interval. It spreads proxies that were imported
// together.
const jitter = 0.1

// due returns when a proxy is to be checked again after its last check. The jitter is a hash of both, so it is stable
// when asked repeatedly and differs between rounds. A proxy that was never checked is due at once.
func due(id string, last time.Time, every time.Duration) time.Time {
	if last.UnixMilli() == 0 {
		return last
	}
	h := fnv.New64a()
	h.Write([]byte(id + last.String())) //nolint:errcheck // never fails (hash.Hash)
	share := 1 - jitter + 2*jitter*float64(h.Sum64())/math.MaxUint64
	return last.Add(time.Duration(share * float64(every)))
}

// KeepChecking runs the scheduled checks until ctx ends.
func (p *Pool) KeepChecking(ctx context.Context) {
	least := p.cfg.Every.shortest()
	if least == 0 {
		return
	}
	tick := time.NewTicker(min(max(least/20, 100*time.Millisecond), 30*time.Second))
	defer tick.Stop()
	underway := &sync.Map{} // workspaces with a round in progress
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		p.checkDue(ctx, underway, &wg)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// checkDue starts a round in every workspace that has due proxies and no round in progress.
func (p *Pool) checkDue(ctx context.Context, underway *sync.Map, wg *sync.WaitGroup) {
	ids, err := p.store.Read().ListWorkspaceIDs(ctx)
	if err != nil {
		p.logFailed(ctx, err)
		return
	}
	at, err := p.now(ctx)
	if err != nil {
		p.logFailed(ctx, err)
		return
	}
	for _, workspace := range ids {
		every := p.cfg.Every.in(workspace)
		if every == 0 {
			continue
		}
		if _, busy := underway.LoadOrStore(workspace, true); busy {
			continue
		}
		wg.Go(func() {
			defer underway.Delete(workspace)
			p.logFailed(ctx, p.CheckDue(ctx, workspace, every, at))
		})
	}
}

// now returns the time by which checks and rotations are due. Of several servers each takes it from their database, so that no clock is
// ahead.
func (p *Pool) now(ctx context.Context) (time.Time, error) {
	if !p.store.Shared() {
		return time.Now(), nil
	}
	at, err := p.store.Read().DatabaseTime(ctx)
	return time.UnixMilli(at), err
}

func (p *Pool) logFailed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		p.log.Error("scheduled checks of proxies failed", "cause", err)
	}
}

// maxDue is how many proxies of a workspace one round checks; the next round checks the rest.
const maxDue = 1000

// CheckDue checks the due proxies of a workspace, unless another server of the database does.
func (p *Pool) CheckDue(ctx context.Context, workspace string, every time.Duration, at time.Time) error {
	targets, err := p.listDue(ctx, workspace, every, at)
	if err != nil || len(targets) == 0 {
		return err
	}
	_, err = p.store.Alone(ctx, "checks of "+workspace, func(ctx context.Context) error {
		if p.store.Shared() { // another server may have checked them in the meantime
			if targets, err = p.listDue(ctx, workspace, every, at); err != nil || len(targets) == 0 {
				return err
			}
		}
		return p.CheckMany(ctx, targets, func(*Check) {})
	})
	return err
}

// listDue returns the due proxies of a workspace. A check in the future was written while the clock was wrong, so such a proxy is due too.
func (p *Pool) listDue(ctx context.Context, workspace string, every time.Duration, at time.Time) (targets []Proxy, err error) {
	before, q := at.Add(-time.Duration((1-jitter)*float64(every))), p.store.Read()
	rows, err := q.ListProxiesDue(ctx, store.ListProxiesDueParams{WorkspaceID: workspace, Before: before.UnixMilli(), Limit: maxDue})
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(row store.ListProxiesDueRow) bool {
		return due(row.ID, time.UnixMilli(row.CheckedAt), every).After(at)
	})
	ahead, err := q.ListProxiesCheckedAhead(ctx, store.ListProxiesCheckedAheadParams{WorkspaceID: workspace,
		Now: at.UnixMilli(), Limit: maxDue})
	if err != nil {
		return nil, err
	}
	for _, row := range ahead {
		rows = append(rows, store.ListProxiesDueRow(row))
	}
	for _, row := range rows {
		targets = append(targets, p.Open(store.Proxy{ID: row.ID, WorkspaceID: row.WorkspaceID,
			Type: row.Type, Host: row.Host, Port: row.Port, Username: row.Username, Password: row.Password, Revision: row.Revision}))
	}
	return targets, nil
}
