package api

import (
	"context"
	"errors"
	"time"

	"warren/problem"
	"warren/runs"
	"warren/store"
	"warren/webhooks"
)

// The operations on what webhooks were told.

// deliveryJSON is what a webhook was told, or is to be told.
type deliveryJSON struct {
	ID        string             `json:"id" example:"0199a1c2-7d3e-7a10-8a55-01234567de11"`
	EventID   string             `json:"eventId" doc:"The header webhook-id, which is the same over all attempts: the event's id." example:"0199a1c2-7d3e-7a10-8a55-0123456789aa"`
	Type      string             `json:"type" example:"run.ended"`
	State     string             `json:"state" enum:"pending,delivered,failed"`
	Attempts  []webhooks.Attempt `json:"attempts" doc:"The last 20, oldest first."`
	NextAt    *time.Time         `json:"nextAt,format:'2006-01-02T15:04:05.000Z07:00'" doc:"When a pending one is tried next; null: it is not." example:"2026-11-21T14:06:00.000Z"`
	CreatedAt time.Time          `json:"createdAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
}

func (deliveryJSON) example() any {
	at := exampleTime()
	return deliveryJSON{ID: exampleDeliveryID, EventID: exampleRunID, Type: "run.ended", State: webhooks.Delivered,
		Attempts: []webhooks.Attempt{{At: at, DurationMs: 80, Status: new(204)}}, CreatedAt: at}
}

func showDelivery(row store.WebhookDelivery) (j deliveryJSON, err error) {
	j = deliveryJSON{ID: row.ID, EventID: row.EventID, Type: row.Type, State: row.State, CreatedAt: runs.Millis(row.CreatedAt)}
	if row.State == webhooks.Pending {
		j.NextAt = new(runs.Millis(row.NextAt))
	}
	j.Attempts, err = webhooks.Attempts(row.Tries)
	return j, err
}

// deliveryList are the parameters of a list of deliveries.
type deliveryList struct {
	WebhookPath
	Paging
	State string `query:"state" enum:"pending,delivered,failed" doc:"Only those in this state."`
}

// afterAll is behind every id.
const afterAll = "~"

func (s *API) listDeliveries(ctx context.Context, in *deliveryList) (*listBody[deliveryJSON], error) {
	q := s.store.Read()
	if _, err := webhookRow(ctx, q, in.ID); err != nil {
		return nil, err
	}
	return listByTime(ctx, s, in.Paging, timeList[store.WebhookDelivery, deliveryJSON]{
		kind: "delivery",
		at:   func(row store.WebhookDelivery) (int64, string) { return row.CreatedAt, row.ID },
		count: func() (int64, error) {
			return q.CountDeliveries(ctx, store.CountDeliveriesParams{WebhookID: in.ID, InState: in.State})
		},
		find: func(id string) (store.WebhookDelivery, error) {
			row, err := q.GetDelivery(ctx, store.GetDeliveryParams{WebhookID: in.ID, ID: id})
			if errors.Is(err, store.ErrNoRow) { // deliveries are trimmed, and nothing remembers them
				err = store.ErrGone
			}
			return row, err
		},
		rows: func(_ int64, id string, limit, offset int64) ([]store.WebhookDelivery, error) {
			if id == "" && in.After == "" {
				id = afterAll
			}
			return q.ListDeliveries(ctx, store.ListDeliveriesParams{WebhookID: in.ID, AfterID: id, InState: in.State, Limit: limit,
				Offset: offset})
		},
		show: showDelivery})
}

// deliveryBody is the answer of the operations on one delivery.
type deliveryBody struct{ Body deliveryJSON }

type webhookTest struct {
	WebhookPath
	Body *noInput `required:"false"`
}

func (webhookTest) problems() []*problem.Error { return []*problem.Error{webhooks.TooManyTests()} }

// testWebhook sends a test, and answers what came back.
func (s *API) testWebhook(ctx context.Context, in *webhookTest) (*deliveryBody, error) {
	row, err := webhookRow(ctx, s.store.Read(), in.ID)
	if err != nil {
		return nil, err
	}
	sent, err := s.webhooks.Test(ctx, row)
	if err != nil {
		return nil, err
	}
	j, err := showDelivery(sent)
	return &deliveryBody{j}, err
}

func webhookOff() *problem.Error {
	return problem.New(problem.Conflict, "webhook_disabled", "The webhook is turned off. Turn it on first: PUT its `enabled` as true.")
}

type deliveryReplay struct {
	WebhookPath
	DeliveryID string   `path:"deliveryId" doc:"The delivery's id."`
	Body       *noInput `required:"false"`
}

func (deliveryReplay) problems() []*problem.Error {
	return []*problem.Error{webhookOff(), problem.Missing("delivery")}
}

// replayDelivery enqueues a delivery again, whatever its state.
func (s *API) replayDelivery(ctx context.Context, in *deliveryReplay) (*deliveryBody, error) {
	row, err := webhookRow(ctx, s.store.Read(), in.ID)
	if err != nil {
		return nil, err
	}
	if !row.Enabled {
		return nil, webhookOff()
	}
	replayed, err := s.webhooks.Replay(ctx, row.ID, in.DeliveryID)
	if err != nil {
		return nil, err
	}
	j, err := showDelivery(replayed)
	return &deliveryBody{j}, err
}
