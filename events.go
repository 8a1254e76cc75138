package main

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
	"warren/problem"

	"github.com/go-json-experiment/json"
)

// event is something that happened to an object.
type event struct {
	ID          string         `json:"id"`
	Type        string         `json:"type"`
	At          timestamp      `json:"at"`
	WorkspaceID string         `json:"workspaceId,omitempty"`
	Data        map[string]any `json:"data"`
}

// events hands out what happens to everyone who listens. A listener that does not keep up is cut off, never waited for.
type events struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
	recent    []published // the last ones, oldest first, for who comes back
	before    string      // the id of what came before recent
	closed    bool
	patience  time.Duration // how long a reader may take for one write
}

// published is an event as it goes over the wire.
type published struct {
	id, workspace string
	text          []byte
}

// heardBy says whether c may hear it. An event without a workspace is for keys that see all.
func (p published) heardBy(c *caller) bool {
	if p.workspace == "" {
		return c.workspaces == nil
	}
	return c.sees(p.workspace)
}

type listener struct {
	caller *caller
	ch     chan []byte // closed when the listener is cut off
}

// backlog is how many events a listener may lie behind, also while it was away.
const backlog = 256

func newEvents() *events {
	return &events{listeners: map[*listener]struct{}{}, before: newID(), patience: 10 * time.Second}
}

// publish tells everyone who may see the workspace.
func (e *events) publish(kind, workspace string, data map[string]any) {
	ev := event{ID: newID(), Type: kind, At: timestamp(now()), WorkspaceID: workspace, Data: data}
	p := published{ev.ID, workspace, ev.text(ev.ID)}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.recent = append(e.recent, p); len(e.recent) > backlog {
		gone := len(e.recent) - backlog/2
		e.before, e.recent = e.recent[gone-1].id, slices.Clone(e.recent[gone:])
	}
	for l := range e.listeners {
		if l.caller.expired() {
			e.drop(l)
			continue
		}
		if !p.heardBy(l.caller) {
			continue
		}
		select {
		case l.ch <- p.text:
		default:
			e.drop(l)
		}
	}
}

// drop cuts a listener off; the mutex is held.
func (e *events) drop(l *listener) {
	if _, ok := e.listeners[l]; ok {
		delete(e.listeners, l)
		close(l.ch)
	}
}

// text is the event on the wire. place is what the client names when it comes back.
func (ev event) text(place string) []byte {
	body, err := json.Marshal(ev, json.Deterministic(true))
	if err != nil { // plain values always marshal
		return nil
	}
	return fmt.Appendf(nil, "id: %s\nevent: %s\ndata: %s\n\n", place, ev.Type, body)
}

// listen begins after the event that the listener heard last. When that is not known any more, or is from before this server's start, it is told so,
// and goes on with the next one. "" has heard nothing.
func (e *events) listen(c *caller, last string) *listener {
	l := &listener{caller: c, ch: make(chan []byte, backlog)}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		close(l.ch)
		return l
	}
	newest, known := e.before, last == e.before
	for _, p := range e.recent {
		if known && p.heardBy(c) {
			l.ch <- p.text
		}
		newest, known = p.id, known || p.id == last
	}
	if !known && last != "" {
		l.ch <- event{ID: newID(), Type: "events.lost", At: timestamp(now()), Data: map[string]any{}}.text(newest)
	}
	e.listeners[l] = struct{}{}
	return l
}

func (e *events) leave(l *listener) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.drop(l)
}

// dismiss ends the streams of a key, which was revoked.
func (e *events) dismiss(keyID string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for l := range e.listeners {
		if l.caller.keyID == keyID {
			e.drop(l)
		}
	}
}

// close ends every stream, so that the server can stop.
func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for l := range e.listeners {
		e.drop(l)
	}
}

// streamEvents is GET /events: server-sent events (WHATWG HTML, 9.2) of the key's workspaces.
func (s *server) streamEvents(w http.ResponseWriter, r *http.Request) error {
	if len(r.URL.RawQuery) > 0 {
		return problem.NotValid(problem.Fault{Location: "query", Message: "this operation takes no parameters"})
	}
	done, err := s.streams.enter(callerOf(r.Context()).keyID)
	if err != nil {
		return err
	}
	defer done()
	l := s.events.listen(callerOf(r.Context()), r.Header.Get("Last-Event-ID"))
	defer s.events.leave(l)
	if _, err := s.keys.authenticate(r); err != nil { // it may have been revoked before it was listening
		return err
	}
	rc := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // reverse proxies pass it on as it comes (nginx, proxy_buffering)
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	beat := time.NewTicker(15 * time.Second) // so that a dead connection is noticed
	defer beat.Stop()
	text := []byte(": hello\n\n")
	for {
		rc.SetWriteDeadline(time.Now().Add(s.events.patience)) //nolint:errcheck // without a deadline the write says it
		if _, err := w.Write(text); err != nil {
			return nil
		}
		if err := rc.Flush(); err != nil {
			return nil
		}
		var ok bool
		select {
		case text, ok = <-l.ch:
			if !ok {
				return nil
			}
		case <-beat.C:
			text = []byte(": beat\n\n")
		case <-r.Context().Done():
			return nil
		}
	}
}
