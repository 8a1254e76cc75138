package store

import "context"

// NewDelivery is a message to enqueue for a webhook.
type NewDelivery struct {
	WebhookID string
	ID        string // in the order of the events
	EventID   string
	Type      string
	Body      string // UTF-8
}

// AddDeliveries enqueues messages with one statement. now is in milliseconds since 1970.
func (q *Queries) AddDeliveries(ctx context.Context, now int64, deliveries []NewDelivery) error {
	list := newRowList(len(deliveries))
	for _, d := range deliveries {
		list.add(d.WebhookID, d.ID, d.EventID, d.Type, d.Body)
	}
	text, err := list.text()
	if err != nil {
		return err
	}
	return q.InsertDeliveries(ctx, InsertDeliveriesParams{Now: now, Deliveries: text})
}
