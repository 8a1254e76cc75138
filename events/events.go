// Package events publishes events to subscribers and replays those that a returning subscriber missed.
package events

import (
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
)

// Backlog is how many events a subscriber may lag behind, connected or not.
const Backlog = 256

// Lost is the type of the event that reports missed events.
const Lost = "events.lost"

// Administrators in place of a key's id addresses an event to whoever administers the server. It is no key's id.
const Administrators = "administrators"

// Event is something that happened to an object.
type Event struct {
	Type      string
	Workspace string // "": only for subscribers that see all workspaces, unless Key is set
	Key       string // the id of the key that alone receives it, or Administrators; "": every key that sees the workspace
	Data      any    // written as JSON when somebody reads it: it must not change any more
}

// Entry is a published event.
type Entry struct {
	Place string // the position from which a subscriber resumes
	Type  string

	workspace string
	key       string
	text      func() []byte // writes the event once
	elsewhere bool
}

// Text returns the event as a JSON object: id, type, at (RFC 3339, UTC, milliseconds), workspaceId and data.
func (e Entry) Text() []byte { return e.text() }

// Workspace returns the workspace of the event; "": none.
func (e Entry) Workspace() string { return e.workspace }

// Elsewhere reports whether another server of the database has published the event.
func (e Entry) Elsewhere() bool { return e.elsewhere }

// Shared reports whether the event is for every key that sees its workspace: neither for one key alone nor for administrators.
func (e Entry) Shared() bool { return e.key == "" }

// NewLost makes an entry that reports missed events, for a subscriber that loses some itself.
func NewLost() Entry { return newEntry(Event{Type: Lost, Data: struct{}{}}) }

// isFor reports whether a subscriber with sees receives the event. An event of type Lost is for everybody.
func (e Entry) isFor(sees func(workspace, key string) bool) bool {
	return e.Type == Lost || sees(e.workspace, e.key)
}

// newEntry makes an entry of an event that happens now. Most events are read by nobody, so the first reader writes it.
func newEntry(e Event) Entry {
	id, at := newID(), time.Now().UTC()
	return Entry{Place: id, Type: e.Type, workspace: e.Workspace, key: e.Key,
		text: sync.OnceValue(func() []byte { return text(id, at, e) })}
}

// Log publishes events. A subscriber that does not keep up is disconnected, so that Publish never waits.
type Log struct {
	shared *shared // nil: this server is the only one

	mu          sync.Mutex
	subscribers map[*Subscription]struct{}
	recent      []Entry // at most Backlog, oldest first
	before      string  // the place before recent
	closed      bool
	figures     Figures
}

// Figures count the events of a log.
type Figures struct {
	Published   int64 // events
	Dropped     int64 // subscribers that did not keep up
	Subscribers int
	Lag         int   // events that the slowest subscriber has not taken yet
	Unsent      int   // events that wait for the bus
	Unshared    int64 // events that never reached other servers, since the bus was away for too long
}

// Figures returns what the log has counted.
func (l *Log) Figures() Figures {
	f := l.own()
	if l.shared != nil {
		all := l.shared.all.own()
		f.Dropped += all.Dropped
		f.Subscribers += all.Subscribers
		f.Lag = max(f.Lag, all.Lag)
		f.Unsent, f.Unshared = l.shared.out.figures()
	}
	return f
}

// own returns the figures without those of a bus.
func (l *Log) own() Figures {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.figures
	f.Subscribers = len(l.subscribers)
	for s := range l.subscribers {
		f.Lag = max(f.Lag, len(s.c))
	}
	return f
}

// Subscription receives the events of a log.
type Subscription struct {
	C <-chan Entry // closed when the subscription or the log ends, or the subscriber lags too far behind

	c    chan Entry
	log  *Log
	sees func(workspace, key string) bool
}

// New makes a log without events.
func New() *Log { return &Log{subscribers: map[*Subscription]struct{}{}, before: newID()} }

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// Publish sends an event to every subscriber that sees its workspace. It never waits.
func (l *Log) Publish(e Event) {
	p := newEntry(e)
	if l.shared != nil {
		l.shared.out.add(p)
	}
	l.deliver(p)
}

// deliver keeps an event, and gives it to the subscribers of this log.
func (l *Log) deliver(p Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.figures.Published++
	if l.recent = append(l.recent, p); len(l.recent) > Backlog {
		gone := len(l.recent) - Backlog/2
		l.before, l.recent = l.recent[gone-1].Place, slices.Clone(l.recent[gone:])
	}
	for s := range l.subscribers {
		if !p.isFor(s.sees) {
			continue
		}
		select {
		case s.c <- p:
		default:
			l.figures.Dropped++
			l.drop(s)
		}
	}
}

func text(id string, at time.Time, e Event) []byte {
	body, err := json.Marshal(struct {
		ID          string    `json:"id"`
		Type        string    `json:"type"`
		At          time.Time `json:"at,format:'2006-01-02T15:04:05.000Z07:00'"`
		WorkspaceID string    `json:"workspaceId,omitempty"`
		Data        any       `json:"data"`
	}{id, e.Type, at, e.Workspace, e.Data}, json.Deterministic(true))
	if err != nil { // plain values always marshal
		return []byte("{}")
	}
	return body
}

// drop ends a subscription. The mutex is held.
func (l *Log) drop(s *Subscription) {
	if _, ok := l.subscribers[s]; ok {
		delete(l.subscribers, s)
		close(s.c)
	}
}

// Subscribe resumes after the event at the place after; "" begins with the next event. If that place is unknown, or too many events ago,
// the first event is of type Lost. On a bus, the events are those of all servers, and so are the places.
//
// sees reports whether the subscriber receives an event by its Workspace and Key. It must not call the log, which may be locked then.
func (l *Log) Subscribe(sees func(workspace, key string) bool, after string) *Subscription {
	if l.shared != nil {
		return l.shared.subscribe(sees, after)
	}
	return l.SubscribeOwn(sees, after)
}

// SubscribeOwn is Subscribe for the events that this server publishes, as soon as it does. It is for a subscriber that acts on events: one
// server must do that, and not each of them.
func (l *Log) SubscribeOwn(sees func(workspace, key string) bool, after string) *Subscription {
	l.mu.Lock()
	defer l.mu.Unlock()
	missed, known := l.since(after)
	if !known && after != "" {
		missed = []Entry{l.lost()}
	}
	return l.subscribe(sees, missed)
}

// resume is SubscribeOwn for a place that the log knows; nil: it does not.
func (l *Log) resume(sees func(workspace, key string) bool, after string) *Subscription {
	l.mu.Lock()
	defer l.mu.Unlock()
	missed, known := l.since(after)
	if !known && after != "" {
		return nil
	}
	return l.subscribe(sees, missed)
}

// join subscribes after events that were read elsewhere, which end at the newest of this log, before it or after it. It returns nil if no
// event is in both, so that some between them may be missing.
func (l *Log) join(sees func(workspace, key string) bool, read []Entry) *Subscription {
	if len(read) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	newest := l.newest()
	if i := slices.IndexFunc(read, func(e Entry) bool { return e.Place == newest }); i >= 0 {
		return l.subscribe(sees, read[:i+1]) // this log has still to get the others
	}
	missed, known := l.since(read[len(read)-1].Place)
	if !known {
		return nil
	}
	return l.subscribe(sees, slices.Concat(read, missed))
}

// since returns the events after a place. The mutex is held.
func (l *Log) since(place string) (missed []Entry, known bool) {
	if place == l.before {
		return l.recent, true
	}
	i := slices.IndexFunc(l.recent, func(e Entry) bool { return e.Place == place })
	if i < 0 {
		return nil, false
	}
	return l.recent[i+1:], true
}

// newest returns the place of the newest event. The mutex is held.
func (l *Log) newest() string {
	if len(l.recent) == 0 {
		return l.before
	}
	return l.recent[len(l.recent)-1].Place
}

// lost makes the event that reports missed events to one subscriber, which resumes with what is next. The mutex is held.
func (l *Log) lost() Entry {
	lost := NewLost()
	lost.Place = l.newest()
	return lost
}

// subscribe adds a subscriber, which gets missed first. The mutex is held.
func (l *Log) subscribe(sees func(workspace, key string) bool, missed []Entry) *Subscription {
	c := make(chan Entry, max(Backlog, len(missed)))
	s := &Subscription{C: c, c: c, log: l, sees: sees}
	if l.closed {
		close(c)
		return s
	}
	for _, p := range missed {
		if p.isFor(sees) {
			c <- p
		}
	}
	l.subscribers[s] = struct{}{}
	return s
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.log.drop(s)
}

// Subscribers returns the number of subscriptions.
func (l *Log) Subscribers() int { return l.Figures().Subscribers }

// End ends every subscription. Later ones end at once. On a bus, subscribers get what was published before, if that takes at most two
// seconds. What is published afterwards still reaches other servers, until Close.
func (l *Log) End() {
	l.end()
	if l.shared != nil {
		l.shared.end()
	}
}

// Close ends the log and every subscription. On a bus, it gives up to two seconds to what is still to be sent.
func (l *Log) Close() {
	l.End()
	if l.shared != nil {
		l.shared.close()
	}
}

// end is End without the bus.
func (l *Log) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for s := range l.subscribers {
		l.drop(s)
	}
}
