package webhooks

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"warren/events"
	"warren/store"
)

const (
	// maxQueued is how many events wait in memory to be enqueued, while the database takes nothing.
	maxQueued = 20_000
	// batchEvents is how many events one transaction enqueues. A larger one would make other writes wait.
	batchEvents = 100
	// batchPause is the time between two of them, so that many events share a transaction.
	batchPause = 20 * time.Millisecond
	// writePause is the pause after a write that failed.
	writePause = time.Second
)

// queue holds the events that are not enqueued yet.
type queue struct {
	mu     sync.Mutex
	waits  []events.Entry
	lost   bool // some did not fit
	ended  bool // no more will come
	change chan struct{}
}

func newQueue() queue { return queue{change: make(chan struct{}, 1)} }

func (q *queue) add(e events.Entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waits) < maxQueued {
		q.waits = append(q.waits, e)
	} else {
		q.lost = true
	}
	q.signal()
}

func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.change <- struct{}{}:
	default:
	}
}

// take returns the next events. ended means that no more will come. lost means that events are missing after them.
func (q *queue) take() (batch []events.Entry, lost, ended bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waits), batchEvents)
	batch, q.waits = q.waits[:n:n], q.waits[n:]
	if len(q.waits) == 0 {
		lost, ended = q.lost, q.ended
		q.lost, q.waits = false, nil
	}
	return batch, lost, ended
}

// receive moves events from their log into the queue, and waits for nothing: the log disconnects subscribers that lag behind. It ends
// with the log.
func (s *Sender) receive() {
	defer s.queue.end()
	place := ""
	for sub := s.sub; ; sub = s.events.SubscribeOwn(s.sees, place) {
		some := false
		for e := range sub.C {
			place, some = e.Place, true
			s.queue.add(e)
		}
		if !some {
			return
		}
	}
}

// collect writes deliveries for the events in the queue until no more come.
func (s *Sender) collect(ctx context.Context) {
	rooms, done := rooms{}, true
	for {
		batch, lost, ended := s.queue.take()
		if lost {
			s.log.Error("too many events were waiting for the database, so webhooks miss some")
			batch = append(batch, events.NewLost())
		}
		if len(batch) == 0 && ended {
			return
		}
		if len(batch) == 0 && done {
			<-s.queue.change
			continue
		}
		if len(batch) > 0 {
			s.renew(ctx)
		}
		all := s.deliveriesOf(batch)
		if len(all) > 0 && !s.enqueue(ctx, all) {
			return
		}
		done = rooms.make(ctx, s, all)
		if !ended {
			time.Sleep(batchPause)
		}
	}
}

// enqueue writes deliveries, again and again until the database takes them. It reports false when the database is closed.
func (s *Sender) enqueue(ctx context.Context, all []store.NewDelivery) bool {
	for {
		at, err := s.now(ctx)
		if err == nil {
			err = s.store.Write(ctx, func(q *store.Queries) error { return q.AddDeliveries(ctx, at.UnixMilli(), all) })
		}
		switch {
		case err == nil:
			ids := make([]string, len(all))
			for i, d := range all {
				ids[i] = d.WebhookID
			}
			s.touch(ids...)
			return true
		case errors.Is(err, store.ErrClosed):
			s.log.Error("events of the last moment were not enqueued for webhooks", "events", len(all))
			return false
		}
		s.log.Error("events were not enqueued for webhooks; they are tried again", "cause", err)
		time.Sleep(writePause)
	}
}

// deliveriesOf returns what the webhooks of now are to be told.
func (s *Sender) deliveriesOf(batch []events.Entry) (out []store.NewDelivery) {
	all := s.hooks.Load()
	for _, e := range batch {
		var event told
		texts := map[bool]string{} // with the workspace, and without
		for _, h := range all.listeners(e) {
			if !h.wants(e.Type) {
				continue
			}
			whole := h.WorkspaceID == nil
			if texts[whole] == "" {
				var err error
				if event.ID == "" {
					err = json.Unmarshal(e.Text(), &event)
				}
				if err == nil {
					texts[whole], err = event.body(whole)
				}
				if err != nil {
					s.log.Error("an event cannot be told to webhooks", "type", e.Type, "cause", err)
					break
				}
			}
			if strings.HasPrefix(e.Type, "webhook.") && event.about(h.ID) {
				continue // a webhook is not told of itself, or telling would never end
			}
			out = append(out, store.NewDelivery{WebhookID: h.ID, ID: store.NewID(), EventID: event.ID, Type: e.Type, Body: texts[whole]})
		}
	}
	return out
}
