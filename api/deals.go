package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/go-json-experiment/json"

	"warren/problem"
	"warren/store"
)

// Keeps which proxies a batch has dealt, until its profiles have them.

// deals knows which proxies were dealt to profiles that do not have them yet, so that two deals at once deal no proxy twice. Each deal has
// a row, which the transaction writes that chooses the proxies: servers that share the database see each other's. Deals of a server that
// is gone do not count. If it comes back and goes on, the proxy of each profile has to be unused still (unusedStill).
type deals struct {
	store *store.Store
	nodes servers
	log   *slog.Logger

	mu   sync.Mutex
	open map[string]bool // the ids of this server's deals that are under way
}

func newDeals(st *store.Store, nodes servers, log *slog.Logger) *deals {
	return &deals{store: st, nodes: nodes, log: log, open: map[string]bool{}}
}

// deal chooses a proxy for each of some profiles, in their order; "" for one without a workspace, which is unknown. Too few
// proxies are a fault, and nothing is dealt then. The caller must call release when the profiles have their proxies.
func (d *deals) deal(ctx context.Context, by *caller, c *proxiesInput, to []store.ProfileID) (ids []string, release func(), err error) {
	id := store.NewID()
	d.setOpen(id, true) // before others can read the row
	err = d.store.Write(ctx, func(q *store.Queries) error {
		taken, err := d.taken(ctx, q)
		if err != nil {
			return err
		}
		var f faults
		ids, err = c.dealAll(ctx, q, by, to, taken, &f)
		if err := cmp.Or(err, f.problem()); err != nil {
			return err
		}
		text, err := json.Marshal(countEach(ids), json.Deterministic(true))
		if err != nil {
			return err
		}
		return q.InsertDeal(ctx, store.InsertDealParams{ID: id, NodeID: d.nodes.Owner(), Proxies: string(text)})
	})
	if err != nil {
		d.setOpen(id, false)
		return nil, func() {}, err
	}
	return ids, func() { d.release(id) }, nil
}

// countEach returns how often each of some ids is there, without "".
func countEach(ids []string) map[string]int64 {
	out := map[string]int64{}
	for _, id := range ids {
		if id != "" {
			out[id]++
		}
	}
	return out
}

func (d *deals) setOpen(id string, open bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if open {
		d.open[id] = true
	} else {
		delete(d.open, id)
	}
}

func (d *deals) isOpen(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[id]
}

// release ends a deal. Where its row cannot be removed, sweep does it later. Until then it counts at the other servers alone.
func (d *deals) release(id string) {
	ctx := context.Background() // the request may be over
	err := d.store.Write(ctx, func(q *store.Queries) error { return store.ErrorOf(q.DeleteDeal(ctx, id)) })
	d.setOpen(id, false)
	if err != nil && !errors.Is(err, store.ErrClosed) {
		d.log.Warn("proxies of a batch that has ended are not dealt by other servers for a minute", "cause", err)
	}
}

// taken returns how many profiles get each proxy from the deals under way of all servers, by the proxy's id.
func (d *deals) taken(ctx context.Context, q *store.Queries) (map[string]int64, error) {
	rows, err := q.ListDeals(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for _, row := range rows {
		counts := d.isOpen(row.ID)
		if row.NodeID != d.nodes.Owner() {
			if counts, err = d.nodes.Lives(ctx, row.NodeID); err != nil {
				return nil, err
			}
		}
		if !counts {
			continue
		}
		var proxies map[string]int64
		if err := json.Unmarshal([]byte(row.Proxies), &proxies); err != nil {
			return nil, fmt.Errorf("the row of the deal %s: %w", row.ID, err)
		}
		for id, n := range proxies {
			out[id] += n
		}
	}
	return out, nil
}

// sweep removes the rows of this server's deals that have ended.
func (d *deals) sweep(ctx context.Context) error {
	rows, err := d.store.Read().ListDeals(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.NodeID != d.nodes.Owner() || d.isOpen(row.ID) {
			continue
		}
		err := d.store.Write(ctx, func(q *store.Queries) error { return store.ErrorOf(q.DeleteDeal(ctx, row.ID)) })
		if err != nil {
			return err
		}
	}
	return nil
}

// unusedStill refuses to give a profile a proxy that was dealt as unused, and that another profile has meanwhile. It is called in the
// transaction that gives it.
func unusedStill(ctx context.Context, q *store.Queries, before, after store.Profile) error {
	if !requestOf(ctx).unusedProxy || after.ProxyID == nil || before.ProxyID != nil && *before.ProxyID == *after.ProxyID {
		return nil
	}
	proxy, err := q.GetProxyChecked(ctx, *after.ProxyID)
	if err == nil && proxy.ProfileCount > 0 {
		err = problem.New(problem.Conflict, "proxy_taken",
			"Another profile has got this proxy since it was dealt, and this profile keeps what it had. Ask again for it.")
	}
	return err
}
