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
}

// Text returns the event as a JSON object: id, type, at (RFC 3339, UTC, milliseconds), workspaceId and data.
func (e Entry) Text() []byte { return e.text() }

// Workspace returns the workspace of the event; "": none.
func (e Entry) Workspace() string { return e.workspace }

// Shared reports whether the event is for every key that sees its workspace: neither for one key alone nor for administrators.
func (e Entry) Shared() bool { return e.key == "" }

// NewLost makes an entry that reports missed events, for a subscriber that loses some itself.
func NewLost() Entry { return newEntry(Event{Type: Lost, Data: struct{}{}}) }

// newEntry makes an entry of an event that happens now. Most events are read by nobody, so the first reader writes it.
func newEntry(e Event) Entry {
	id, at := newID(), time.Now().UTC()
	return Entry{Place: id, Type: e.Type, workspace: e.Workspace, key: e.Key,
		text: sync.OnceValue(func() []byte { return text(id, at, e) })}
}

// Log publishes events. A subscriber that does not keep up is disconnected, so that Publish never waits.
type Log struct {
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
	Lag         int // events that the slowest subscriber has not taken yet
}

// Figures returns what the log has counted.
func (l *Log) Figures() Figures {
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
	l.mu.Lock()
	defer l.mu.Unlock()
	l.figures.Published++
	if l.recent = append(l.recent, p); len(l.recent) > Backlog {
		gone := len(l.recent) - Backlog/2
		l.before, l.recent = l.recent[gone-1].Place, slices.Clone(l.recent[gone:])
	}
	for s := range l.subscribers {
		if !s.sees(p.workspace, p.key) {
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

// Subscribe resumes after the event at the place after; "" begins with the next event. If that place is unknown, or from
// before this process, the first event is of type Lost.
//
// sees reports whether the subscriber receives an event by its Workspace and Key. It is called with the log's mutex held.
func (l *Log) Subscribe(sees func(workspace, key string) bool, after string) *Subscription {
	c := make(chan Entry, Backlog)
	s := &Subscription{C: c, c: c, log: l, sees: sees}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		close(c)
		return s
	}
	newest, known := l.before, after == l.before
	for _, p := range l.recent {
		if known && sees(p.workspace, p.key) {
			c <- p
		}
		newest, known = p.Place, known || p.Place == after
	}
	if !known && after != "" {
		lost := NewLost()
		lost.Place = newest
		c <- lost
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
func (l *Log) Subscribers() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.subscribers)
}

// Close ends every subscription. Later subscriptions end at once.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for s := range l.subscribers {
		l.drop(s)
	}
}
