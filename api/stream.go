package api

import (
	"fmt"
	"net/http"
	"time"

	"warren/events"
	"warren/problem"
)

// Streams events to clients.

// writeTime is the deadline of one write to a stream.
const writeTime = 10 * time.Second

// streamEvents serves GET /events: server-sent events (WHATWG HTML, 9.2) of the key's workspaces. The stream ends with the key.
func (s *API) streamEvents(w http.ResponseWriter, r *http.Request) error {
	if len(r.URL.RawQuery) > 0 {
		return problem.NotValid(problem.Fault{Location: "query", Message: "This operation takes no parameters. Remove them."})
	}
	ctx, release, err := s.longLived(r.Context())
	if err != nil {
		return err
	}
	defer release()
	caller := callerOf(ctx)
	sub := s.events.Subscribe(caller.receives, r.Header.Get("Last-Event-ID"))
	defer sub.Close()
	rc := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // tells reverse proxies not to buffer (nginx, proxy_buffering)
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	beat := time.NewTicker(15 * time.Second) // detects dead connections
	defer beat.Stop()
	text := []byte(": hello\n\n")
	for {
		rc.SetWriteDeadline(time.Now().Add(s.writeTime)) //nolint:errcheck // a failing connection fails the write too
		if _, err := w.Write(text); err != nil {
			return nil
		}
		if err := rc.Flush(); err != nil {
			return nil
		}
		select {
		case e, ok := <-sub.C:
			if !ok || caller.Expired() { // the timer of the key does not run while the machine sleeps
				return nil
			}
			// Clients send the id as Last-Event-ID when they reconnect.
			text = fmt.Appendf(nil, "id: %s\nevent: %s\ndata: %s\n\n", e.Place, e.Type, e.Text())
		case <-beat.C:
			text = []byte(": beat\n\n")
		case <-ctx.Done():
			return nil
		}
	}
}

// receives reports whether the caller may receive an event of a workspace, which may be for one key alone or for administrators.
// Others without a workspace are for keys that see all workspaces.
func (c *caller) receives(workspace, key string) bool {
	switch {
	case key == events.Administrators:
		return c.has(scopeAdmin) && c.Sees.SeesAll()
	case key != "":
		return key == c.KeyID
	case workspace == "":
		return c.Sees.SeesAll()
	}
	return c.sees(workspace)
}
