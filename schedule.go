package main

import (
	"context"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"warren/proxy"
	"warren/store"
)

// This file checks proxies again and again. When the next check of one is due follows from its last one, which is on disk: a server
// that comes back goes on where it was.

// checkEvery says how long after a check the next one comes. 0: never.
type checkEvery struct {
	all time.Duration
	of  map[string]time.Duration // by workspace, where that has its own
}

// The bounds of --check-every.
const (
	minCheckEvery = time.Second
	maxCheckEvery = 30 * 24 * time.Hour
)

// parseCheckEvery reads the values of --check-every: TIME, or WORKSPACE=TIME.
func parseCheckEvery(values []string, add func(string, ...any)) checkEvery {
	e := checkEvery{of: map[string]time.Duration{}}
	for _, v := range values {
		workspace, text, own := strings.Cut(v, "=")
		if !own {
			text = v
		}
		d, err := time.ParseDuration(text)
		switch {
		case err != nil || d != 0 && (d < minCheckEvery || d > maxCheckEvery):
			add("--check-every %q must be a time from %v to %v such as 30m, or 0, or WORKSPACE=TIME", v, minCheckEvery, maxCheckEvery)
		case own && !isWorkspaceID(workspace):
			add("--check-every %q names no workspace: an id has 1 to 64 of A-Z a-z 0-9 . _ -", v)
		case own:
			e.of[workspace] = d
		default:
			e.all = d
		}
	}
	return e
}

// in is the time for a workspace.
func (e checkEvery) in(workspace string) time.Duration {
	if d, own := e.of[workspace]; own {
		return d
	}
	return e.all
}

// shortest is the shortest of all times; 0 when nothing is ever checked.
func (e checkEvery) shortest() (least time.Duration) {
	least = e.all
	for _, d := range e.of {
		if d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}

// A check comes a tenth of its time earlier at most, or later, so that what was imported together does not stay together.
const jitter = 0.1

// due is when a proxy that was checked at last is to be checked again. The jitter follows from both, so that it stays the same
// however often it is asked for, and differs from round to round. One that was never checked is due at once.
func due(id string, last time.Time, every time.Duration) time.Time {
	if last.UnixMilli() == 0 {
		return last
	}
	h := fnv.New64a()
	h.Write([]byte(id + last.String())) //nolint:errcheck // never fails (hash.Hash)
	share := 1 - jitter + 2*jitter*float64(h.Sum64())/math.MaxUint64
	return last.Add(time.Duration(share * float64(every)))
}

// keepChecking checks what is due, until ctx ends.
func (s *server) keepChecking(ctx context.Context) {
	least := s.cfg.checkEvery.shortest()
	if least == 0 {
		return
	}
	tick := time.NewTicker(min(max(least/20, 100*time.Millisecond), 30*time.Second))
	defer tick.Stop()
	underway := &sync.Map{} // the workspaces that are at it
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		s.checkDue(ctx, underway, &wg)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// checkDue begins a round in every workspace that has something due and none under way.
func (s *server) checkDue(ctx context.Context, underway *sync.Map, wg *sync.WaitGroup) {
	ids, err := s.store.Read().ListWorkspaceIDs(ctx)
	if err != nil {
		s.sayCheckFailed(ctx, err)
		return
	}
	for _, workspace := range ids {
		every := s.cfg.checkEvery.in(workspace)
		if every == 0 {
			continue
		}
		if _, busy := underway.LoadOrStore(workspace, true); busy {
			continue
		}
		wg.Go(func() {
			defer underway.Delete(workspace)
			s.sayCheckFailed(ctx, s.checkDueIn(ctx, workspace, every, time.Now()))
		})
	}
}

func (s *server) sayCheckFailed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		s.log.Error("proxies could not be checked over time", "cause", err)
	}
}

// dueAtOnce is how many proxies of a workspace a round looks at; the next one has the rest.
const dueAtOnce = 1000

// checkDueIn checks what is due in a workspace. A check that lies ahead was written while the clock was, and says nothing of when the next is due.
func (s *server) checkDueIn(ctx context.Context, workspace string, every time.Duration, at time.Time) error {
	before, q := at.Add(-time.Duration((1-jitter)*float64(every))), s.store.Read()
	rows, err := q.ListProxiesDue(ctx, store.ListProxiesDueParams{WorkspaceID: workspace, Before: before.UnixMilli(), Limit: dueAtOnce})
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(row store.ListProxiesDueRow) bool {
		return due(row.ID, time.UnixMilli(row.CheckedAt), every).After(at)
	})
	ahead, err := q.ListProxiesCheckedAhead(ctx, store.ListProxiesCheckedAheadParams{WorkspaceID: workspace, Now: at.UnixMilli(), Limit: dueAtOnce})
	if err != nil {
		return err
	}
	for _, row := range ahead {
		rows = append(rows, store.ListProxiesDueRow(row))
	}
	var targets []probed
	for _, row := range rows {
		targets = append(targets, s.probedOf(store.Proxy{ID: row.ID, WorkspaceID: row.WorkspaceID, Type: row.Type, Host: row.Host, Port: row.Port,
			Username: row.Username, Password: row.Password, Revision: row.Revision}))
	}
	if len(targets) == 0 {
		return nil
	}
	return s.runs.checkMany(ctx, targets, func(*checkJSON) {})
}

// filesPerCheck is how many connections a place for a check may come to: four times as many checks may wait, each may try twice, and the
// server has others.
const filesPerCheck = 10

// checksAtOnce is how many proxies are checked at once: as asked for (0: the default), or fewer where that would leave no connections for
// others. A check that finds none left would call a proxy dead that is not.
func checksAtOnce(wanted, files int) int {
	if wanted == 0 {
		wanted = proxy.DefaultSlots
	}
	if files > 0 {
		wanted = min(wanted, max(1, files/filesPerCheck))
	}
	return wanted
}
