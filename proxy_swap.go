package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"warren/shim"
	"warren/store"
)

// This file is about the proxy of a browser that runs: it gets another one while it runs, or the same one at another address.

// Cutting says what becomes of connections that are open when another proxy is in use.
type Cutting struct {
	Cut bool `query:"cut" doc:"When a running profile gets another proxy by this, or the same one at another address or with other credentials: end its connections through the old one. Else they stay until they end by themselves."`
}

// changedRunJSON is what a change of a proxy has done to a run.
type changedRunJSON struct {
	ProfileID string               `json:"profileId"`
	RunID     string               `json:"runId"`
	Swapped   bool                 `json:"swapped" doc:"New connections go through the proxy as it is now. false: nothing of its address changed, the run goes on through another (a fallback), or its process did not take it."`
	Cut       int                  `json:"cut" doc:"Connections that were ended."`
	Effective changedEffectiveJSON `json:"effective"`
	Pending   []string             `json:"pending" doc:"As in run."`
}

// changedEffectiveJSON is what of a run's settings follows its exit.
type changedEffectiveJSON struct {
	Timezone    string         `json:"timezone"`
	Locale      []string       `json:"locale"`
	Geolocation jsontext.Value `json:"geolocation" doc:"A position, off, or null: the page asks as Chrome does."`
}

// swapPatience is how long a run's process may take to change its proxy. One that hangs must not hold up whoever asked.
const swapPatience = 5 * time.Second

// proxyWish says what a run's proxies are to be.
type proxyWish struct {
	ofProfile bool // the profile's proxy, when it has one; else the one it has, as that is now
	first     bool // back to it, if another stands in for it
	cut       bool // end what goes through another
}

// inUse is the id of the proxy that new connections go through; "" none. r.swap is held.
func (r *profileRun) inUse() string {
	if r.at >= len(r.proxies) {
		return ""
	}
	return r.proxies[r.at].ID
}

// own is the id of the first proxy, which others stand in for; "" none. r.swap is held.
func (r *profileRun) own() string {
	if len(r.proxies) == 0 {
		return ""
	}
	return r.proxies[0].ID
}

// refreshProxy gives a run the proxies that it should have now. A run never loses its proxy before its next start.
func (s *server) refreshProxy(ctx context.Context, r *profileRun, wish proxyWish) shim.Swap {
	r.swap.Lock()
	defer r.swap.Unlock()
	ctx, cancel := context.WithTimeout(ctx, swapPatience)
	defer cancel()
	swap, err := s.swapProxy(ctx, r, wish)
	if err != nil {
		s.log.Warn("a running profile keeps its old proxy until its next start", "profile", r.profileID, "cause", err)
	}
	return swap
}

// swapProxy does it. What is wanted is read while r.swap is held: of two changes at once the later one stays.
func (s *server) swapProxy(ctx context.Context, r *profileRun, wish proxyWish) (swap shim.Swap, err error) {
	r.mu.Lock()
	client, running := r.client, r.status == "running"
	r.mu.Unlock()
	if !running {
		return swap, nil
	}
	row, err := s.profileRow(ctx, r.profileID, false)
	if err != nil {
		return swap, err
	}
	id := r.own()
	if wish.ofProfile && row.ProxyID != nil && *row.ProxyID != id {
		id, wish.first = *row.ProxyID, true
	}
	if id == "" {
		return swap, nil
	}
	list, warnings, err := s.proxiesFor(ctx, r, row, id)
	if err != nil {
		return swap, err
	}
	if now := marksOf(list); wish.first || !slices.Equal(now, r.proxies) {
		if swap, err = client.SetUpstreams(ctx, shim.Upstreams{List: list, ResetFailover: wish.first, CloseOld: wish.cut}); err != nil {
			return swap, err
		}
		r.proxies, r.at, r.forOnce = now, swap.At, r.forOnce && !wish.ofProfile
	}
	return swap, s.noteProxy(ctx, r, swap.Swapped, warnings)
}

// proxiesFor are those that a run should have, with its own in front, and what of the profile's fallbacks is left out.
func (s *server) proxiesFor(ctx context.Context, r *profileRun, row store.Profile, id string) (list []shim.Upstream, warnings []warningJSON, err error) {
	px, err := s.proxyRow(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	own, err := s.upstream(px)
	if err != nil {
		return nil, nil, err
	}
	if r.forOnce && id == r.own() {
		return []shim.Upstream{*own}, nil, nil
	}
	all, err := s.fallbacksOf(ctx, row, id)
	if err != nil || len(all) == 0 {
		return []shim.Upstream{*own}, nil, err
	}
	exit, err := knownExit(ctx, s.store.Read(), px)
	if err != nil {
		return nil, nil, err
	}
	more, warnings := chosenFallbacks(all, row.FallbackCountry, exit, r.proxies)
	return append([]shim.Upstream{*own}, more...), warnings, nil
}

func marksOf(list []shim.Upstream) (out []shim.UpstreamMark) {
	for _, u := range list {
		out = append(out, shim.UpstreamMark{ID: u.ID, Revision: u.Revision})
	}
	return out
}

// noteProxy writes into a run which proxy is in use, where it says something else, and what of the fallbacks is left out. r.swap is held.
func (s *server) noteProxy(ctx context.Context, r *profileRun, swapped bool, warnings []warningJSON) error {
	row, err := s.proxyRow(ctx, r.inUse())
	if err != nil {
		return err
	}
	r.mu.Lock()
	answer := *r.answer // others may hold the old one
	had := answer.Proxy
	same := !swapped && had != nil && had.ID == row.ID && had.Fallback == (r.at > 0)
	if !same {
		answer.Proxy = &exitJSON{ID: row.ID, Type: row.Type, Fallback: r.at > 0}
	}
	answer.Warnings = slices.DeleteFunc(slices.Clone(answer.Warnings), func(w warningJSON) bool { return w.Code == fallbackLeftOut })
	answer.Warnings = append(answer.Warnings, warnings...)
	if same && slices.Equal(answer.Warnings, r.answer.Warnings) {
		r.mu.Unlock()
		return nil
	}
	r.answer = &answer
	text, err := json.Marshal(runRecord{&answer, r.began})
	r.mu.Unlock()
	if err != nil {
		return err
	}
	defer s.runs.publishUpdate(r)
	return s.runs.record(func(ctx context.Context, q *store.Queries) error {
		_, err := q.SetRunRecord(ctx, store.SetRunRecordParams{ID: r.id, Record: string(text)})
		return err
	})
}

// pendingProxies adds what of a profile's proxies its run does not have. r.swap is held.
func (s *server) pendingProxies(ctx context.Context, r *profileRun, row store.Profile, pending []string) ([]string, error) {
	own := r.own()
	if r.forOnce {
		return pending, nil
	}
	if row.ProxyID != nil && *row.ProxyID != own || row.ProxyID == nil && own != "" {
		pending = append(pending, "proxyId")
	} else if own != "" {
		list, _, err := s.proxiesFor(ctx, r, row, own)
		if err != nil {
			return pending, err
		}
		if !slices.EqualFunc(list, r.proxies, func(u shim.Upstream, m shim.UpstreamMark) bool { return u.ID == m.ID }) {
			pending = append(pending, "fallbackProxyIds")
		}
	}
	slices.Sort(pending)
	return pending, nil
}

// proxyChanged gives every running profile of a proxy its new address and credentials, when it moved, all at once: those that hang are
// waited for together. It says what became of each.
func (s *server) proxyChanged(ctx context.Context, row store.Proxy, moved, cut bool) (out []changedRunJSON) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, run := range s.runs.list(callerOf(ctx), row.WorkspaceID) {
		r := s.runs.of(run.ProfileID)
		if r == nil || r.id != run.RunID {
			continue // it has ended
		}
		wg.Go(func() {
			r.swap.Lock()
			uses := slices.ContainsFunc(r.proxies, func(m shim.UpstreamMark) bool { return m.ID == row.ID })
			r.swap.Unlock()
			if !uses {
				return
			}
			var swap shim.Swap
			if moved {
				swap = s.refreshProxy(ctx, r, proxyWish{cut: cut})
				s.redress(ctx, r, exitWanted)
			}
			if _, now := s.runs.look(r.profileID, ""); now != nil {
				mu.Lock()
				defer mu.Unlock()
				out = append(out, changedRunJSON{r.profileID, r.id, swap.Swapped, swap.Closed,
					changedEffectiveJSON{now.Effective.Timezone, now.Effective.Locale, now.Effective.Geolocation}, now.Pending})
			}
		})
	}
	wg.Wait()
	slices.SortFunc(out, func(a, b changedRunJSON) int { return strings.Compare(a.RunID, b.RunID) })
	return out
}

// proxyFailed sees to a run whose proxy was dead, and that goes on through the next.
func (s *server) proxyFailed(r *profileRun, n shim.Notice) {
	leave, err := s.runs.enter()
	if err != nil {
		return // the server stops; the next one asks the run
	}
	go func() {
		defer leave()
		ctx := s.asOurselves(s.runs.ctx)
		s.events.publish("run.fallback", r.workspaceID, map[string]any{"id": r.profileID, "runId": r.id, "from": n.From, "to": n.To, "code": n.Code})
		s.log.Warn("a run's proxy is dead; it goes on through the next", "profile", r.profileID, "run", r.id, "from", n.From, "to", n.To, "code", n.Code)
		if err := s.learnProxies(ctx, r); err != nil {
			s.log.Warn("a run's proxy is not known", "profile", r.profileID, "run", r.id, "cause", err)
		}
		s.redress(ctx, r, exitWanted)
	}()
}

// learnProxies asks a run which proxy is in use: what it told may be of before a change.
func (s *server) learnProxies(ctx context.Context, r *profileRun) error {
	r.swap.Lock()
	defer r.swap.Unlock()
	ctx, cancel := context.WithTimeout(ctx, swapPatience)
	defer cancel()
	state, err := r.client.State(ctx)
	if err != nil {
		return err
	}
	r.proxies, r.at = state.Upstreams, state.UpstreamAt
	return s.noteProxy(ctx, r, false, r.leftOut())
}

// leftOut are the warnings that a run has of its fallbacks.
func (r *profileRun) leftOut() (out []warningJSON) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.answer.Warnings {
		if w.Code == fallbackLeftOut {
			out = append(out, w)
		}
	}
	return out
}

type failbackRequest struct {
	ProfilePath
	Body *noInput `required:"false"`
}

// failback takes a run back to its own proxy.
func (s *server) failback(ctx context.Context, in *failbackRequest) (*struct{ Body RunJSON }, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	r := s.runs.of(row.ID)
	if r == nil {
		return nil, notRunning()
	}
	ctx = context.WithoutCancel(ctx)
	r.mu.Lock()
	running := r.status == "running" && r.answer != nil
	r.mu.Unlock()
	if !running {
		return nil, notRunning()
	}
	s.refreshProxy(ctx, r, proxyWish{first: true})
	s.redress(ctx, r, exitWanted)
	_, run := s.runs.look(row.ID, "")
	if run == nil {
		return nil, notRunning()
	}
	return &struct{ Body RunJSON }{*run}, nil
}
