package webhooks

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"warren/problem"
	"warren/store"
)

// The states of a delivery.
const (
	Pending   = "pending"
	Delivered = "delivered"
	Failed    = "failed"
)

// Why the server turned a webhook off.
const (
	reasonGone    = "gone"
	reasonFailing = "failing"
)

// maxTries is how many attempts of a delivery are kept: those of two rounds.
const maxTries = 2 * maxAttempts

// record writes what an attempt came to, and turns a webhook off that is gone or has failed for too long.
func (s *Sender) record(ctx context.Context, h *hook, row store.WebhookDelivery, a Attempt, pause time.Duration) error {
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	p := store.RecordDeliveryParams{WebhookID: row.WebhookID, ID: row.ID, Attempts: row.Attempts + 1, State: Delivered,
		NextAt: row.NextAt, PlannedAt: row.PlannedAt}
	if p.Tries, err = addTry(row.Tries, a); err != nil {
		return err
	}
	if a.Error != nil {
		p.State = Failed
		if at, again := retryAt(now, int(p.Attempts), jitter(), pause); again {
			p.State, p.NextAt, p.PlannedAt = Pending, at.UnixMilli(), now.UnixMilli()
		}
	}
	off := ""
	err = s.store.Write(ctx, func(q *store.Queries) error {
		off = ""
		if err := store.ErrorOf(q.RecordDelivery(ctx, p)); err != nil {
			return err
		}
		webhook, err := q.GetWebhook(ctx, store.GetWebhookParams{ID: h.ID})
		if errors.Is(err, store.ErrNoRow) {
			return nil
		}
		if err != nil {
			return err
		}
		off, err = noteHealth(ctx, q, webhook, h.Revision, a, now)
		return err
	})
	if err != nil || off == "" {
		return err
	}
	s.log.Warn("a webhook was turned off", "webhook", h.ID, "reason", off)
	s.publish(h, "webhook.disabled", disabledEvent{ID: h.ID, Reason: off})
	return s.Changed(ctx)
}

// noteHealth notes on the webhook how it does. It returns why it was turned off, or "". A webhook whose settings were changed since the
// attempt began is not judged by it.
func noteHealth(ctx context.Context, q *store.Queries, w store.Webhook, revision int64, a Attempt, now time.Time) (off string, err error) {
	at := now.UnixMilli()
	switch {
	case !w.Enabled || w.Revision != revision:
		return "", nil
	case a.Error == nil && w.FailingSince == nil:
		return "", nil
	case a.Error == nil:
		return "", store.ErrorOf(q.SetWebhookFailing(ctx, store.SetWebhookFailingParams{ID: w.ID}))
	case a.Status != nil && *a.Status == http.StatusGone:
		off = reasonGone
	}
	since := failingSince(now, w.FailingSince, w.FailedAt)
	if off == "" && now.Sub(since) >= givenUpAfter {
		off = reasonFailing
	}
	ms := since.UnixMilli()
	err = store.ErrorOf(q.SetWebhookFailing(ctx, store.SetWebhookFailingParams{ID: w.ID, FailingSince: &ms, FailedAt: &at}))
	if err != nil || off == "" {
		return "", err
	}
	n, err := q.TurnWebhookOff(ctx, store.TurnWebhookOffParams{ID: w.ID, OffReason: off, UpdatedAt: at, Revision: revision})
	if err != nil || n == 0 {
		return "", err
	}
	return off, store.ErrorOf(q.FailPending(ctx, w.ID))
}

// addTry adds an attempt to those of a row.
func addTry(tries string, a Attempt) (string, error) {
	all, err := Attempts(tries)
	if err != nil {
		return "", err
	}
	all = append(all, a)
	text, err := json.Marshal(all[max(0, len(all)-maxTries):])
	return string(text), err
}

// Attempts reads the attempts of a row, oldest first.
func Attempts(tries string) ([]Attempt, error) {
	all := []Attempt{}
	err := json.Unmarshal([]byte(tries), &all)
	return all, err
}

// Replay enqueues a delivery of a webhook again, with the id that it had. The webhook must be enabled.
func (s *Sender) Replay(ctx context.Context, webhook, delivery string) (row store.WebhookDelivery, err error) {
	at, err := s.now(ctx)
	if err != nil {
		return row, err
	}
	err = s.store.Write(ctx, func(q *store.Queries) (err error) {
		row, err = q.ReplayDelivery(ctx, store.ReplayDeliveryParams{WebhookID: webhook, ID: delivery, Now: at.UnixMilli()})
		return err
	})
	if errors.Is(err, store.ErrNoRow) {
		return row, problem.Missing("delivery")
	}
	if err == nil {
		s.touch(webhook)
	}
	return row, err
}

// maxTests is how many tests of all webhooks go on at a time.
const maxTests = 16

// TooManyTests is the error for a test while maxTests others go on.
func TooManyTests() *problem.Error {
	return problem.New(problem.TooMany, "rate_limited", "16 tests of webhooks are running. Wait for one to end.").After(attemptTime)
}

// TestType is the type of the event of a test.
const TestType = "webhook.test"

// Test sends an event of the type webhook.test once, also to a webhook that is turned off, and keeps what came of it as a delivery.
func (s *Sender) Test(ctx context.Context, w store.Webhook) (row store.WebhookDelivery, err error) {
	select {
	case s.tests <- struct{}{}:
		defer func() { <-s.tests }()
	default:
		return row, TooManyTests()
	}
	h, err := s.read(w)
	if err != nil {
		return row, err
	}
	now := time.Now()
	row = store.WebhookDelivery{WebhookID: w.ID, ID: store.NewID(), EventID: store.NewID(), Type: TestType, State: Delivered, Attempts: 1,
		CreatedAt: now.UnixMilli()}
	data := []byte(`{"id":"` + w.ID + `","workspaceId":"` + Place(w) + `"}`) // neither has a character to escape
	event := told{ID: row.EventID, Type: TestType, At: instant(now).Format("2006-01-02T15:04:05.000Z07:00"), Data: data}
	if row.Body, err = event.body(w.WorkspaceID == nil); err != nil {
		return row, err
	}
	a, _ := s.attempt(ctx, h, message{row.EventID, row.Body})
	if ctx.Err() != nil {
		return row, ctx.Err()
	}
	if a.Error != nil {
		row.State = Failed
	}
	if row.Tries, err = addTry("[]", a); err != nil {
		return row, err
	}
	return row, s.store.Write(ctx, func(q *store.Queries) error {
		_, err := q.GetWebhook(ctx, store.GetWebhookParams{ID: w.ID})
		if errors.Is(err, store.ErrNoRow) { // it was deleted meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		return q.InsertTestDelivery(ctx, store.InsertTestDeliveryParams{WebhookID: w.ID, ID: row.ID, EventID: row.EventID, Type: row.Type,
			Body: row.Body, State: row.State, Tries: row.Tries, CreatedAt: row.CreatedAt})
	})
}
