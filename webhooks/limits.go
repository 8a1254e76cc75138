package webhooks

import (
	"context"
	"math"
	"time"

	"github.com/go-json-experiment/json"

	"warren/store"
)

const (
	// MaxPending is how many deliveries of a webhook may be pending. The oldest are dropped for new ones.
	MaxPending = 10_000
	// MaxFinished is how many of the newest deliveries of a webhook are kept.
	MaxFinished = 10_000
	// KeptFor is how long finished deliveries are kept.
	KeptFor = 30 * 24 * time.Hour

	// roomEvery is the time between two looks at how many are pending. A count costs as much as some writes.
	roomEvery = 500 * time.Millisecond
	// A drop is split into dropParts transactions, of at least dropAtOnce deliveries each: other writes wait no longer than for one.
	dropParts, dropAtOnce = 16, 50
	// tellEvery is the shortest time between two events that say that deliveries were dropped.
	tellEvery = time.Minute
	// deleteAtOnce is how many deliveries one statement deletes.
	deleteAtOnce = 250
)

// rooms drop the oldest pending deliveries of webhooks that have too many, by the webhooks' ids.
type rooms map[string]*room

type room struct {
	looked time.Time // when they were last counted
	over   int64     // how many of those counted then are to be dropped yet
	part   int64     // how many of them at once
	told   time.Time // when the webhook was last told that some were dropped
	untold int64     // how many were dropped since
}

// make makes room for the webhooks of new deliveries, a part for each that has too many. It reports whether that was all.
func (r rooms) make(ctx context.Context, s *Sender, added []store.NewDelivery) (done bool) {
	for _, d := range added {
		if r[d.WebhookID] == nil {
			r[d.WebhookID] = &room{}
		}
		if one := r[d.WebhookID]; time.Since(one.looked) >= roomEvery {
			one.look(ctx, s, d.WebhookID)
		}
	}
	done = true
	for id, one := range r {
		h := s.hooks.Load().byID[id]
		if h == nil {
			delete(r, id)
			continue
		}
		if one.over > 0 {
			one.drop(ctx, s, h)
			done = done && one.over == 0
		}
	}
	return done
}

// look counts the pending deliveries of a webhook.
func (r *room) look(ctx context.Context, s *Sender, id string) {
	r.looked = time.Now()
	n, err := s.store.Read().CountPending(ctx, id)
	if err != nil {
		s.log.Error("the pending deliveries of a webhook were not counted", "webhook", id, "cause", err)
	}
	r.over = max(0, n-MaxPending)
	r.part = max(r.over/dropParts, dropAtOnce)
}

// drop drops a part of what is to be dropped, and tells the webhook now and then.
func (r *room) drop(ctx context.Context, s *Sender, h *hook) {
	n, err := s.dropOldest(ctx, h.ID, min(r.over, r.part))
	if err != nil {
		s.log.Error("the pending deliveries of a webhook were not limited", "webhook", h.ID, "cause", err)
	}
	if r.over -= r.part; n == 0 || r.over < 0 { // none: they were delivered meanwhile, or the next look tries again
		r.over = 0
	}
	if r.untold += n; r.untold > 0 && time.Since(r.told) >= tellEvery {
		s.log.Warn("too many deliveries of a webhook are pending, so the oldest are dropped", "webhook", h.ID, "dropped", r.untold)
		s.publish(h, "webhook.dropped", droppedEvent{ID: h.ID, Dropped: r.untold})
		r.told, r.untold = time.Now(), 0
	}
}

// dropOldest deletes the oldest pending deliveries, so many at most, and returns how many.
func (s *Sender) dropOldest(ctx context.Context, id string, most int64) (dropped int64, err error) {
	if s.store.Shared() { // another server may drop some, too
		n, err := s.store.Read().CountPending(ctx, id)
		if most = min(most, n-MaxPending); err != nil || most <= 0 {
			return 0, err
		}
	}
	ids, err := s.store.Read().ListOldestPending(ctx, store.ListOldestPendingParams{WebhookID: id, Limit: most})
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	err = s.store.Write(ctx, func(q *store.Queries) (err error) {
		dropped, err = q.DeleteDeliveries(ctx, store.DeleteDeliveriesParams{WebhookID: id, Ids: listOf(ids), InState: Pending})
		if err != nil {
			return err
		}
		at := time.Now().UnixMilli()
		return store.ErrorOf(q.CountDropped(ctx, store.CountDroppedParams{ID: id, More: dropped, DroppedAt: &at}))
	})
	if err != nil {
		return 0, err
	}
	return dropped, nil
}

// Sweep deletes finished deliveries beyond MaxFinished, and those older than KeptFor if the clock is trusted.
func (s *Sender) Sweep(ctx context.Context, trusted bool) error {
	before := int64(math.MinInt64)
	if trusted {
		before = time.Now().Add(-KeptFor).UnixMilli()
	}
	rows, err := s.store.Read().ListAllWebhooks(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		for n := deleteAtOnce; n == deleteAtOnce && ctx.Err() == nil; {
			ids, err := s.store.Read().ListOldestFinished(ctx, store.ListOldestFinishedParams{WebhookID: row.ID, Before: before,
				Keep: MaxFinished, Limit: deleteAtOnce})
			if n = len(ids); err != nil || n == 0 {
				if err != nil {
					return err
				}
				break
			}
			err = s.store.Write(ctx, func(q *store.Queries) error {
				return store.ErrorOf(q.DeleteDeliveries(ctx, store.DeleteDeliveriesParams{WebhookID: row.ID, Ids: listOf(ids)}))
			})
			if err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// listOf writes ids as a JSON array.
func listOf(ids []string) string {
	text, _ := json.Marshal(ids) // strings of the database are UTF-8
	return string(text)
}
