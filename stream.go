package main

import (
	"fmt"
	"net/http"
	"time"

	"warren/events"
	"warren/problem"
)

// This file streams events to clients.

// writeTime is how long a reader of a stream may take for one write.
const writeTime = 10 * time.Second

// streamEvents is GET /events: server-sent events (WHATWG HTML, 9.2) of the key's workspaces. It ends with the key.
func (s *server) streamEvents(w http.ResponseWriter, r *http.Request) error {
	if len(r.URL.RawQuery) > 0 {
		return problem.NotValid(problem.Fault{Location: "query", Message: "this operation takes no parameters"})
	}
	ctx, leave, err := s.lasting(r.Context())
	if err != nil {
		return err
	}
	defer leave()
	caller := callerOf(ctx)
	heard := s.events.Subscribe(caller.hears, r.Header.Get("Last-Event-ID"))
	defer heard.Close()
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
		rc.SetWriteDeadline(time.Now().Add(s.writeTime)) //nolint:errcheck // without a deadline the write says it
		if _, err := w.Write(text); err != nil {
			return nil
		}
		if err := rc.Flush(); err != nil {
			return nil
		}
		select {
		case e, ok := <-heard.C:
			if !ok || caller.Expired() { // timers stand still while a machine sleeps
				return nil
			}
			text = sse(e)
		case <-beat.C:
			text = []byte(": beat\n\n")
		case <-ctx.Done():
			return nil
		}
	}
}

// sse is an event on the wire. Its id is what the client names in Last-Event-ID when it comes back.
func sse(e events.Entry) []byte {
	return fmt.Appendf(nil, "id: %s\nevent: %s\ndata: %s\n\n", e.Place, e.Type, e.Text)
}

// hears says whether the caller may hear of a workspace. What belongs to none is for keys that see all.
func (c *caller) hears(workspace string) bool {
	if workspace == "" {
		return c.Sees.SeesAll()
	}
	return c.sees(workspace)
}
