package events

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Shares events between the servers of one database. Publish puts an event into an outbox. A goroutine appends what is there to the bus.
// Another reads the bus, the own events among those of the others, and gives them to the subscribers. So every server has the same events
// in the same order, and a subscriber that resumes on another server misses none.
//
// While the database does not answer, subscribers therefore wait, also for the events of their own server. With an event that came before
// its place in the order, they could not resume anywhere. Hardly any of them could act on it: the objects that events are about are in the
// same database. Who has to act on the events of a server takes them with SubscribeOwn, which does not wait for the bus.

// Row is an event on a bus. Seq is its place in the order of all events, which the bus chooses. Text is the event as Entry.Text returns it.
// The type has no name of its own, so that store.EventRow is the same type and neither package needs the other.
type Row = struct {
	Seq                                    int64
	ID, Origin, Workspace, Key, Type, Text string
}

// Bus carries events between servers. Its methods are safe for concurrent use.
type Bus interface {
	// Append adds events in their order, all or none. Those that it has already are left out.
	Append(ctx context.Context, rows []Row) error
	// Read returns at most limit events after the one with a seq and an id. whole is false if events after it were removed or lost.
	Read(ctx context.Context, seq int64, id string, limit int) (rows []Row, whole bool, err error)
	// After returns at most limit events after the one with an id. known is false if the bus does not have that one.
	After(ctx context.Context, id string, limit int) (rows []Row, known bool, err error)
	// Newest returns the seq and the id of the newest event, an empty id if there is none.
	Newest(ctx context.Context) (seq int64, id string, err error)
	// Follow returns a channel that has something when there may be new events, and from time to time without. It is called once.
	Follow() <-chan struct{}
}

const (
	// maxUnsent is how many events wait for the bus while it takes none. Beyond it the oldest are lost to other servers.
	maxUnsent = 10_000
	// sendRows and readRows are how many events go over the bus at once.
	sendRows = 500
	readRows = 500
	// appendTime is the deadline of one Append, and sendPause the pause after one that failed.
	appendTime = 15 * time.Second
	sendPause  = 250 * time.Millisecond
	// resumeTime is how long Subscribe looks for a place on the bus.
	resumeTime = 5 * time.Second
	// settleTime is how long Subscribe waits for what was published before it, without a place or with one that is not known.
	settleTime = time.Second
	// closeTime is how long Close waits for the bus to take the last events.
	closeTime = 2 * time.Second
	// drainTime is how long subscribers may take until the next events, when many come at once. Together it is at most drainAll in a row,
	// and in the long run one part of drainShare of the time. drainLook is how often they are looked at.
	drainTime  = 100 * time.Millisecond
	drainAll   = time.Second
	drainShare = 10
	drainLook  = time.Millisecond
)

// shared is the part of a log that is on a bus.
type shared struct {
	bus    Bus
	log    *slog.Logger
	origin string // this life of the server
	out    outbox
	all    *Log // the events of all servers
	ctx    context.Context
	cancel context.CancelFunc
	wake   chan struct{}  // has something when this server has appended
	ended  chan struct{}  // closed when the outbox is empty and gets nothing more
	both   sync.WaitGroup // the two goroutines

	reading chan struct{} // has something while the bus is read; guards the rest
	seq     int64         // of the last event that was read
	id      string

	patience time.Duration // with subscribers that have no room
	drained  time.Time     // the last time that some was used
}

// Open makes a log on a bus, from its newest event on; nil: this server is the only one. Close ends it. log gets outages that cost events.
// The error is that of the bus.
func Open(ctx context.Context, bus Bus, log *slog.Logger) (*Log, error) {
	if bus == nil {
		return New(), nil
	}
	seq, id, err := bus.Newest(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the newest event of all servers: %w", err)
	}
	h := &shared{bus: bus, log: log, origin: newID(), out: outbox{change: make(chan struct{}, 1)}, all: New(),
		wake: make(chan struct{}, 1), ended: make(chan struct{}), reading: make(chan struct{}, 1), seq: seq, id: id}
	if id != "" {
		h.all.before = id
	}
	h.ctx, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	h.both.Go(h.send)
	h.both.Go(h.receive)
	l := New()
	l.shared = h
	return l, nil
}

// send appends what is in the outbox until that has ended.
func (h *shared) send() {
	defer close(h.ended)
	for {
		batch, ended := h.out.take(sendRows)
		if len(batch) == 0 && ended {
			return
		}
		if len(batch) == 0 {
			<-h.out.change
			continue
		}
		if batch[0].Type == Lost {
			h.log.Error("the database was away for too long, so subscribers miss events of this server")
		}
		if !h.append(batch) {
			return
		}
	}
}

// append appends a batch, again and again until the bus takes it. It reports false when the log was closed before.
func (h *shared) append(batch []Entry) bool {
	rows := make([]Row, len(batch))
	for i, e := range batch {
		rows[i] = Row{ID: e.Place, Origin: h.origin, Workspace: e.workspace, Key: e.key, Type: e.Type, Text: string(e.Text())}
	}
	for {
		ctx, cancel := context.WithTimeout(h.ctx, appendTime)
		err := h.bus.Append(ctx, rows)
		cancel()
		if err == nil {
			signal(h.wake)
			return true
		}
		select {
		case <-time.After(sendPause):
		case <-h.ctx.Done():
			unsent, _ := h.out.figures()
			h.log.Error("the last events did not reach other servers", "events", unsent, "err", err)
			return false
		}
	}
}

// receive reads the bus whenever it may have new events.
func (h *shared) receive() {
	follow := h.bus.Follow()
	for {
		_ = h.catchUp(h.ctx) // after an error it is tried again; the store logs an outage
		select {
		case <-follow:
		case <-h.wake:
		case <-h.ctx.Done():
			return
		}
	}
}

// catchUp returns once all that was on the bus before its call was given to the subscribers.
func (h *shared) catchUp(ctx context.Context) error {
	select {
	case h.reading <- struct{}{}:
		defer func() { <-h.reading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		rows, whole, err := h.bus.Read(ctx, h.seq, h.id, readRows)
		if err != nil {
			return err
		}
		seq, id := h.seq, h.id
		if len(rows) > 0 {
			seq, id = rows[len(rows)-1].Seq, rows[len(rows)-1].ID
		} else if !whole {
			if seq, id, err = h.bus.Newest(ctx); err != nil {
				return err
			}
		}
		if !whole {
			h.log.Error("events of all servers were removed from the database before this one had read them")
			h.all.deliver(NewLost())
		}
		for part := range slices.Chunk(h.entriesOf(rows), Backlog/2) {
			h.drain(ctx, len(part))
			for _, e := range part {
				h.all.deliver(e)
			}
		}
		h.seq, h.id = seq, id
		if len(rows) < readRows {
			return nil
		}
	}
}

func (h *shared) entriesOf(rows []Row) []Entry {
	out := make([]Entry, len(rows))
	for i, r := range rows {
		out[i] = Entry{Place: r.ID, Type: r.Type, workspace: r.Workspace, key: r.Key, text: func() []byte { return []byte(r.Text) },
			elsewhere: r.Origin != h.origin}
	}
	return out
}

// drain waits until each subscriber has room for n events, for drainTime and as long as there is patience left. Patience grows with time,
// so that a slow subscriber, which is disconnected in the end, does not hold the others up. Publishing does not wait for it.
func (h *shared) drain(ctx context.Context, n int) {
	now := time.Now()
	h.patience, h.drained = min(drainAll, h.patience+now.Sub(h.drained)/drainShare), now
	if h.all.room() >= n {
		return
	}
	look := time.NewTicker(drainLook)
	defer look.Stop()
	for h.all.room() < n && time.Since(now) < min(drainTime, h.patience) && ctx.Err() == nil {
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
	h.patience -= min(h.patience, time.Since(now))
}

// room returns how many events the fullest subscriber can still get.
func (l *Log) room() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := Backlog
	for s := range l.subscribers {
		n = min(n, cap(s.c)-len(s.c))
	}
	return n
}

// subscribe is Log.Subscribe. Without a place, what this server has published before is no news. A place that is not in memory is looked
// for on the bus: it may have been given by another server.
func (h *shared) subscribe(sees func(workspace, key string) bool, after string) *Subscription {
	if after == "" {
		h.settle(settleTime)
	}
	ctx, cancel := context.WithTimeout(h.ctx, resumeTime)
	defer cancel()
	for range 3 { // events that come meanwhile can be too many to join with what was read
		if s := h.all.resume(sees, after); s != nil {
			return s
		}
		rows, known, err := h.bus.After(ctx, after, Backlog+1)
		if err != nil || !known || len(rows) > Backlog {
			break
		}
		if s := h.all.join(sees, h.entriesOf(rows)); s != nil {
			return s
		}
		if err := h.catchUp(ctx); err != nil { // this server is behind the one that gave the place
			break
		}
	}
	h.settle(settleTime) // who has lost some reads everything anew, so that what came before is no news either
	return h.all.SubscribeOwn(sees, after)
}

// settle returns once what this server has published was given to the subscribers, at the latest after a time.
func (h *shared) settle(limit time.Duration) {
	ctx, cancel := context.WithTimeout(h.ctx, limit)
	defer cancel()
	if unsent, _ := h.out.figures(); unsent > 0 {
		look := time.NewTicker(drainLook)
		defer look.Stop()
		for ; unsent > 0 && ctx.Err() == nil; unsent, _ = h.out.figures() {
			select {
			case <-look.C:
			case <-ctx.Done():
			}
		}
	}
	_ = h.catchUp(ctx) // what is missing comes later
}

// end ends the subscribers, which get what was published before.
func (h *shared) end() {
	h.settle(closeTime)
	h.all.end()
}

// close sends what is left, and ends the goroutines.
func (h *shared) close() {
	h.out.end()
	select {
	case <-h.ended:
	case <-time.After(closeTime):
	}
	h.cancel()
	h.both.Wait()
}

// outbox holds the events that are still to be appended to the bus.
type outbox struct {
	mu     sync.Mutex
	waits  []Entry
	taken  int   // events of the last take, which are being appended
	lost   int64 // events that did not fit since the last take
	all    int64 // events that did not fit
	ended  bool
	change chan struct{}
}

// add adds an event, in place of the oldest if there are too many.
func (o *outbox) add(e Entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	if len(o.waits) >= maxUnsent {
		o.waits[0] = Entry{} // the array stays for a while
		o.waits = o.waits[1:]
		o.lost++
		o.all++
	}
	o.waits = append(o.waits, e)
	signal(o.change)
}

// end takes no more events.
func (o *outbox) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	signal(o.change)
}

// take says that the events of the last take were appended. It removes and returns the oldest events, n at most, behind an event of type
// Lost if some before them did not fit. ended means that no more will come.
func (o *outbox) take(n int) (batch []Entry, ended bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost > 0 {
		batch, o.lost = append(batch, NewLost()), 0
	}
	n = min(len(o.waits), n)
	batch = append(batch, o.waits[:n]...)
	o.taken = len(batch)
	clear(o.waits[:n])
	if o.waits = o.waits[n:]; len(o.waits) == 0 {
		o.waits = nil
	}
	return batch, o.ended
}

// figures returns how many events are not appended yet, and how many did not fit.
func (o *outbox) figures() (unsent int, lost int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.taken + len(o.waits), o.all
}

// signal puts something into a channel that has room for one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
