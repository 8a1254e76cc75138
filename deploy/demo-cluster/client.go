//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/go-json-experiment/json"
)

// Speaks with the servers as any client does.

// refusal is the problem that a server has answered.
type refusal struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s: %s", r.Status, r.Code, r.Detail) }

// call does one operation at a server. out may be nil. The error is a *refusal if the server answers one.
func (c *cluster) call(ctx context.Context, s *server, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	body := []byte{}
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	res, err := c.send(ctx, s, method, path, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= 400 {
		refused := new(refusal)
		return errors.Join(json.Unmarshal(text, refused), refused)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out, json.MatchCaseInsensitiveNames(true))
}

func (c *cluster) send(ctx context.Context, s *server, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.address+"/api/v1"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	return http.DefaultClient.Do(req)
}

// started is what of a start's answer is used.
type started struct {
	RunID, CdpURL, LiveURL string
	Reused                 bool
}

func (c *cluster) startProfile(ctx context.Context, s *server, id string) (run started, err error) {
	err = c.call(ctx, s, "POST", "/profiles/"+id+"/start", nil, &run)
	return run, err
}

func (c *cluster) stopProfile(ctx context.Context, s *server, id string) error {
	return c.call(ctx, s, "POST", "/profiles/"+id+"/stop", nil, nil)
}

// visit opens a tab over CDP, and navigates it.
func visit(ctx context.Context, cdpURL, address string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, cdpURL+"/json/new", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var tab struct {
		WebSocketDebuggerURL string `json:"webSocketDebuggerUrl"`
	}
	if err := json.UnmarshalRead(res.Body, &tab); err != nil {
		return fmt.Errorf("/json/new: %s: %w", res.Status, err)
	}
	page, _, err := websocket.Dial(ctx, tab.WebSocketDebuggerURL, nil) //nolint:bodyclose // a socket has none
	if err != nil {
		return err
	}
	defer page.CloseNow() //nolint:errcheck // the tab stays
	if err := wsjson.Write(ctx, page, map[string]any{"id": 1, "method": "Page.navigate",
		"params": map[string]string{"url": address}}); err != nil {
		return err
	}
	var went struct {
		ID     int
		Result struct{ ErrorText string }
	}
	for went.ID == 0 { // events have none
		if err := wsjson.Read(ctx, page, &went); err != nil {
			return err
		}
	}
	if went.Result.ErrorText != "" {
		return errors.New(went.Result.ErrorText)
	}
	return nil
}

// event is an event that a stream brought.
type event struct{ kind, profile string }

// eventLog keeps the events that one server's stream brings.
type eventLog struct {
	mu  sync.Mutex
	all []event
}

// listen reads a server's stream of events until ctx ends.
func (c *cluster) listen(ctx context.Context, s *server) (*eventLog, error) {
	res, err := c.send(ctx, s, "GET", "/events", nil)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != 200 {
		res.Body.Close() //nolint:errcheck // it is not read
		return nil, fmt.Errorf("GET /events: %s", res.Status)
	}
	log := new(eventLog)
	go func() {
		defer res.Body.Close()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			var e struct {
				Type string `json:"type"`
				Data struct {
					ID string `json:"id"`
				} `json:"data"`
			}
			text, ok := strings.CutPrefix(lines.Text(), "data: ")
			if ok && json.Unmarshal([]byte(text), &e) == nil {
				log.mu.Lock()
				log.all = append(log.all, event{e.Type, e.Data.ID})
				log.mu.Unlock()
			}
		}
	}()
	return log, nil
}

// count returns how many events of a kind there were about some profiles.
func (l *eventLog) count(kind string, profiles []string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.all {
		if e.kind == kind && slices.Contains(profiles, e.profile) {
			n++
		}
	}
	return n
}
