package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Follows the server's events (server-sent events, WHATWG HTML), and lists again when something changes.

// event is one event. place is where a follower goes on after it.
type event struct {
	place, kind string
	data        jsontext.Value
}

// retryAfter is the time between two attempts to connect.
const retryAfter = time.Second

// follow calls do with each event until it fails or ctx ends. A connection that breaks off is made again, where it was. ready, if it is
// not nil, is called after each connection.
func (c *Client) follow(ctx context.Context, ready func(), do func(event) error) error {
	place := ""
	for began := false; ; began = true {
		err := c.followOnce(ctx, &place, ready, do)
		var stop stopped
		switch {
		case errors.As(err, &stop):
			return stop.error
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if _, refused := errors.AsType[*refused](err); refused || !began && err != nil && place == "" {
			return err
		}
		select {
		case <-time.After(retryAfter):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stopped is an error of the one who reads events, and not of the connection.
type stopped struct{ error }

func (c *Client) followOnce(ctx context.Context, place *string, ready func(), do func(event) error) error {
	r := request{method: http.MethodGet, path: "/events", header: http.Header{"Accept": {"text/event-stream"}}}
	if *place != "" {
		r.header.Set("Last-Event-ID", *place)
	}
	res, err := c.open(ctx, r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if ready != nil {
		ready()
	}
	in := bufio.NewReader(res.Body)
	var e event
	for {
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			e.take(line)
			continue
		}
		if e.place != "" {
			*place = e.place
		}
		if len(e.data) > 0 {
			if err := do(e); err != nil {
				return stopped{err}
			}
		}
		e = event{}
	}
}

// take adds a line of the stream to the event. A line that begins with a colon is a comment.
func (e *event) take(line string) {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "id":
		e.place = value
	case "event":
		e.kind = value
	case "data":
		e.data = append(e.data, value...)
	}
}

// followEvents prints events as they happen. Without --follow it prints those of --for.
func followEvents(s *session) error {
	if _, err := s.format(); err != nil {
		return err
	}
	if !s.yes("follow") {
		return misusef("events go on for ever: say --follow, and end it with Ctrl-C")
	}
	most, n := s.number("max"), 0
	kinds := s.list("type")
	errEnough := errors.New("enough")
	ready := func() {
		if s.tabular() && n == 0 {
			fmt.Fprintln(s.err, "following; Ctrl-C ends it")
		}
	}
	err := s.client.follow(s.ctx, ready, func(e event) error {
		if !matches(kinds, e.kind) {
			return nil
		}
		if err := s.printEvent(e); err != nil {
			return err
		}
		if n++; most > 0 && n >= most {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// matches reports whether an event's type is one of the patterns, such as run.*.
func matches(patterns []string, kind string) bool {
	for _, p := range patterns {
		if ok, err := path.Match(p, kind); ok && err == nil {
			return true
		}
	}
	return len(patterns) == 0
}

func (s *session) printEvent(e event) error {
	if !s.tabular() {
		return s.printLine(e.data)
	}
	v, err := decode(e.data)
	if err != nil {
		return err
	}
	at, _ := member(v, "at").(string)
	if t, err := time.Parse(time.RFC3339, at); err == nil {
		at = t.Local().Format(time.TimeOnly)
	}
	data, _ := member(v, "data").(map[string]any)
	var words []string
	for _, name := range []string{"name", "status", "reason", "id", "profileId", "proxyId", "runId"} {
		if text := s.plain(name, data[name]); text != "" {
			words = append(words, text)
		}
	}
	return s.say("%s  %-20s  %s", at, e.kind, oneLine(strings.Join(words, gap)))
}

// watch lists again after each event that changes the list. Events that come together change it once.
func (s *session) watch(list func() error) error {
	changed := make(chan struct{}, 1)
	mark := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- s.client.follow(ctx, mark, func(e event) error {
			if strings.HasPrefix(e.kind, "events.") || matches(strings.Fields(s.cmd.events), e.kind) {
				mark()
			}
			return nil
		})
	}()
	for {
		select {
		case <-changed:
		case err := <-ended:
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		}
		if terminal(s.out) {
			fmt.Fprint(s.out, "\x1b[H\x1b[2J") // to the corner, and clear (ECMA-48)
		}
		if err := list(); err != nil {
			return err
		}
		if err := s.settle(ctx); err != nil {
			return nil
		}
	}
}

// settle waits a moment, so that many events at once make one list.
func (s *session) settle(ctx context.Context) error {
	select {
	case <-time.After(200 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
