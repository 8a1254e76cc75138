package webhooks

import (
	"context"
	"errors"
	"sync"
	"time"

	"warren/store"
)

// Lets several servers of a database share its webhooks.

const (
	// pollEvery is how often the server that delivers looks for what others have enqueued.
	pollEvery = time.Second
	// standBy is how often the others try to take its place.
	standBy = 3 * time.Second
)

// now returns the time by which deliveries are due. Of several servers each takes it from their database, so that no clock is ahead.
func (s *Sender) now(ctx context.Context) (time.Time, error) {
	if !s.store.Shared() {
		return time.Now(), nil
	}
	at, err := s.store.Read().DatabaseTime(ctx)
	return time.UnixMilli(at), err
}

// deliverAlone delivers while no other server does, until ctx ends.
func (s *Sender) deliverAlone(ctx context.Context) {
	for failing := false; ctx.Err() == nil; {
		_, err := s.store.Alone(ctx, "webhooks", func(ctx context.Context) error {
			var polling sync.WaitGroup
			defer polling.Wait()
			ctx, end := context.WithCancel(ctx)
			defer end()
			polling.Go(func() { s.poll(ctx) })
			newDispatcher(s).run(ctx)
			return nil
		})
		if failed := err != nil && ctx.Err() == nil; failed != failing {
			if failing = failed; failed {
				s.log.Warn("webhooks are told nothing while the database does not answer", "cause", err)
			}
		}
		select {
		case <-time.After(standBy):
		case <-ctx.Done():
		}
	}
}

// poll looks for changed webhooks and for due deliveries until ctx ends.
func (s *Sender) poll(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		at, err := s.now(ctx)
		if err == nil {
			err = s.refresh(ctx)
		}
		if err != nil {
			continue // the store logs an outage
		}
		if due, err := s.store.Read().ListWebhooksDue(ctx, at.UnixMilli()); err == nil && len(due) > 0 {
			s.touch(due...)
		}
	}
}

// refresh reads the webhooks anew if another server has changed some.
func (s *Sender) refresh(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, err := s.store.Read().WebhooksState(ctx)
	if err != nil || now == s.state {
		return err
	}
	return s.readHooks(ctx)
}

// renew is refresh, again and again until the database answers or is closed. With a database of its own a server knows all changes.
func (s *Sender) renew(ctx context.Context) {
	if !s.store.Shared() {
		return
	}
	for err := s.refresh(ctx); err != nil && !errors.Is(err, store.ErrClosed); err = s.refresh(ctx) {
		s.log.Error("events were not enqueued for webhooks; they are tried again", "cause", err)
		time.Sleep(writePause)
	}
}
