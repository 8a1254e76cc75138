package webhooks

import (
	"context"
	"errors"
	"time"

	"warren/store"
)

// Chooses what is delivered when. One goroutine owns all of this; each attempt has a goroutine of its own.

const (
	// The attempts of one endpoint at a time: as a rule, when it is slow, and when it failed the last time.
	roomQuick   = 8
	roomSlow    = 2
	roomFailing = 1
	// The attempts of all endpoints at a time. Slow and failing ones share a part of their own, so that the others never wait for them.
	laneQuick = 128
	laneSlow  = 64
	// slowTime is how long an attempt takes at least that makes its endpoint a slow one.
	slowTime = 2 * time.Second
	// maxWait is the longest time between two looks at what is pending: timers do not see the clock being set, nor a sleep of the machine.
	maxWait = 10 * time.Second
	// idleWait is the same for webhooks without anything pending.
	idleWait = time.Hour
	// clockSlack is how far the clock may be set back without a new plan.
	clockSlack = time.Minute
)

// endpoint is what the dispatcher knows of a webhook.
type endpoint struct {
	hook     *hook
	underway map[string]bool // deliveries that are being tried
	look     time.Time       // when to look for deliveries; zero: now
	rest     time.Time       // nothing is tried before
	blocked  bool            // its lane was full
	slow     bool            // its last attempt took long
	failures int             // attempts that failed since the last that did not
}

// dispatcher starts attempts.
type dispatcher struct {
	sender    *Sender
	endpoints map[string]*endpoint
	lanes     map[bool]int // free places by whether the lane is the slow one
	done      chan result
	underway  int
}

// result is what an attempt came to, for the pace of its endpoint.
type result struct {
	webhook, delivery string
	slowLane          bool
	attempt           Attempt
	pause             time.Duration
	err               error // it could not be written
}

func newDispatcher(s *Sender) *dispatcher {
	return &dispatcher{sender: s, endpoints: map[string]*endpoint{}, lanes: map[bool]int{false: laneQuick, true: laneSlow},
		done: make(chan result)}
}

// run delivers until ctx ends, and waits for the attempts under way, which end with it.
func (d *dispatcher) run(ctx context.Context) {
	for {
		d.follow()
		timer := time.NewTimer(d.startDue(ctx))
		select {
		case <-timer.C:
		case <-d.sender.wake:
		case r := <-d.done:
			d.finish(r)
		case <-ctx.Done():
			for timer.Stop(); d.underway > 0; d.underway-- {
				<-d.done
			}
			d.sender.client.CloseIdleConnections()
			return
		}
		timer.Stop()
	}
}

// follow takes over the webhooks as they are now, and which of them have new deliveries.
func (d *dispatcher) follow() {
	now, touched := d.sender.hooks.Load(), d.sender.takeTouched()
	for id := range d.endpoints {
		if now.byID[id] == nil && len(d.endpoints[id].underway) == 0 {
			delete(d.endpoints, id)
		}
	}
	for id, h := range now.byID {
		e := d.endpoints[id]
		if e == nil {
			e = &endpoint{underway: map[string]bool{}}
			d.endpoints[id] = e
		}
		if e.hook != nil && e.hook.Revision != h.Revision { // perhaps another address
			e.rest, e.failures, e.slow = time.Time{}, 0, false
		}
		e.hook = h
		if touched[id] {
			e.look = time.Time{}
		}
	}
}

// startDue starts what is due, as far as there is room, and returns how long to wait for what is due next.
func (d *dispatcher) startDue(ctx context.Context) (wait time.Duration) {
	wait = idleWait
	for id, e := range d.endpoints {
		now := time.Now()
		if d.sender.hooks.Load().byID[id] != e.hook || ctx.Err() != nil {
			continue // it was deleted or changed a moment ago: follow comes first
		}
		if !e.look.After(now) {
			if err := d.startOn(ctx, e, now); err != nil && !errors.Is(err, store.ErrClosed) {
				d.sender.log.Error("the deliveries of a webhook were not read", "webhook", id, "cause", err)
				e.look = now.Add(writePause)
			}
		}
		wait = min(wait, max(0, time.Until(e.look)))
	}
	return wait
}

// startOn starts what is due for one endpoint, and sets when to look again.
func (d *dispatcher) startOn(ctx context.Context, e *endpoint, now time.Time) error {
	if e.rest.After(now) {
		e.look = now.Add(min(e.rest.Sub(now), maxWait))
		return nil
	}
	free := e.room() - len(e.underway)
	e.look, e.blocked = now.Add(maxWait), false // an attempt that ends looks again
	if free <= 0 {
		return nil
	}
	most := free + len(e.underway)
	at, err := d.sender.now(ctx)
	if err != nil {
		return err
	}
	due, err := d.sender.store.Read().ListDeliveriesDue(ctx, store.ListDeliveriesDueParams{WebhookID: e.hook.ID, Now: at.UnixMilli(),
		Limit: int64(most)})
	if err != nil {
		return err
	}
	for _, row := range due {
		switch {
		case e.underway[row.ID]:
			continue
		case free == 0:
			return nil
		case d.lanes[e.isSlow()] == 0:
			e.blocked = true
			return nil
		}
		free--
		d.start(ctx, e, row)
	}
	if len(due) == most {
		return nil
	}
	return d.planLook(ctx, e, now, at)
}

// planLook sets when the next delivery of an endpoint is due. Where the clock was set back, it plans anew. at is now by the clock that
// deliveries go by.
func (d *dispatcher) planLook(ctx context.Context, e *endpoint, now, at time.Time) error {
	next, err := d.sender.store.Read().NextDelivery(ctx, store.NextDeliveryParams{WebhookID: e.hook.ID, Now: at.UnixMilli()})
	switch {
	case err != nil:
		return err
	case len(next) == 0:
		e.look = now.Add(idleWait)
		return nil
	case next[0].PlannedAt > at.Add(clockSlack).UnixMilli():
		d.sender.log.Warn("the clock was set back, so deliveries are planned anew", "webhook", e.hook.ID)
		err := d.sender.store.Write(ctx, func(q *store.Queries) error {
			return store.ErrorOf(q.ReplanDeliveries(ctx, store.ReplanDeliveriesParams{WebhookID: e.hook.ID, Now: at.UnixMilli(),
				Slack: at.Add(clockSlack).UnixMilli()}))
		})
		e.look = time.Time{}
		return err
	}
	e.look = now.Add(min(time.UnixMilli(next[0].NextAt).Sub(at), maxWait))
	return nil
}

// start tries a delivery in a goroutine of its own.
func (d *dispatcher) start(ctx context.Context, e *endpoint, row store.WebhookDelivery) {
	r := result{webhook: e.hook.ID, delivery: row.ID, slowLane: e.isSlow()}
	h := e.hook
	e.underway[row.ID] = true
	d.lanes[r.slowLane]--
	d.underway++
	go func() {
		r.attempt, r.pause = d.sender.attempt(ctx, h, message{row.EventID, row.Body})
		if ctx.Err() == nil || r.attempt.Error == nil { // else the server stops, which says nothing of the endpoint
			r.err = d.sender.record(context.WithoutCancel(ctx), h, row, r.attempt, r.pause)
		}
		d.done <- r
	}()
}

// finish frees what an attempt held, and sets the pace of its endpoint.
func (d *dispatcher) finish(r result) {
	d.underway--
	d.lanes[r.slowLane]++
	for _, other := range d.endpoints {
		if other.blocked {
			other.look = time.Time{}
		}
	}
	e := d.endpoints[r.webhook]
	if e == nil {
		return
	}
	delete(e.underway, r.delivery)
	e.look = time.Time{}
	e.setPace(r, time.Now())
	if r.err != nil && !errors.Is(r.err, store.ErrClosed) {
		d.sender.log.Error("an attempt to deliver was not recorded; it will be repeated", "webhook", r.webhook, "cause", r.err)
		e.rest = time.Now().Add(maxWait)
	}
}

// isSlow reports whether the endpoint goes into the slow lane.
func (e *endpoint) isSlow() bool { return e.slow || e.failures > 0 }

// room is how many attempts the endpoint may have at a time.
func (e *endpoint) room() int {
	switch {
	case e.failures > 0:
		return roomFailing
	case e.slow:
		return roomSlow
	}
	return roomQuick
}
