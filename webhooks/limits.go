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

	// roomEvery is the time between two looks at how many are pending. A count costs as much as some writes. Many that are dropped at once
	// would make other writes wait.
	roomEvery = 200 * time.Millisecond
	// tellEvery is the shortest time between two events that say that deliveries were dropped.
	tellEvery = time.Minute
	// deleteAtOnce is how many deliveries one statement deletes.
	deleteAtOnce = 250
)

// room drops the oldest pending deliveries of webhooks that have too many.
type room struct {
	looked map[string]time.Time // when a webhook's were last counted
	told   map[string]time.Time // when it was last told that some were dropped
	untold map[string]int64     // how many were dropped since
}

// make makes room for the webhooks of new deliveries.
func (r *room) make(ctx context.Context, s *Sender, added []store.NewDelivery) {
	if r.looked == nil {
		r.looked, r.told, r.untold = map[string]time.Time{}, map[string]time.Time{}, map[string]int64{}
	}
	for _, d := range added {
		h := s.hooks.Load().byID[d.WebhookID]
		if h == nil || time.Since(r.looked[h.ID]) < roomEvery {
			continue
		}
		r.looked[h.ID] = time.Now()
		n, err := s.dropOldest(ctx, h.ID)
		if err != nil {
			s.log.Error("the pending deliveries of a webhook were not limited", "webhook", h.ID, "cause", err)
		}
		if r.untold[h.ID] += n; r.untold[h.ID] > 0 && time.Since(r.told[h.ID]) >= tellEvery {
			s.log.Warn("too many deliveries of a webhook are pending, so the oldest are dropped", "webhook", h.ID,
				"dropped", r.untold[h.ID])
			s.publish(h, "webhook.dropped", droppedEvent{ID: h.ID, Dropped: r.untold[h.ID]})
			r.told[h.ID], r.untold[h.ID] = time.Now(), 0
		}
	}
}

// dropOldest deletes the oldest pending deliveries beyond MaxPending, and returns how many.
func (s *Sender) dropOldest(ctx context.Context, id string) (dropped int64, err error) {
	for {
		n, err := s.store.Read().CountPending(ctx, id)
		if err != nil || n <= MaxPending {
			return dropped, err
		}
		ids, err := s.store.Read().ListOldestPending(ctx, store.ListOldestPendingParams{WebhookID: id,
			Limit: min(n-MaxPending, deleteAtOnce)})
		if err != nil || len(ids) == 0 {
			return dropped, err
		}
		var gone int64
		err = s.store.Write(ctx, func(q *store.Queries) (err error) {
			gone, err = q.DeleteDeliveries(ctx, store.DeleteDeliveriesParams{WebhookID: id, Ids: listOf(ids), InState: Pending})
			if err != nil {
				return err
			}
			at := time.Now().UnixMilli()
			return store.ErrorOf(q.CountDropped(ctx, store.CountDroppedParams{ID: id, More: gone, DroppedAt: &at}))
		})
		if err != nil {
			return dropped, err
		}
		dropped += gone
	}
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
