package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// devtools is a plain DevTools client.
type devtools struct {
	socket *websocket.Conn
	last   int
}

func dialDevTools(ctx context.Context, address string) (*devtools, error) {
	socket, err := dialSocket(ctx, address)
	return &devtools{socket: socket}, err
}

// dialSocket connects to a WebSocket whose messages may have any size.
func dialSocket(ctx context.Context, address string) (*websocket.Conn, error) {
	socket, _, err := websocket.Dial(ctx, address, nil)
	if err == nil {
		socket.SetReadLimit(-1)
	}
	return socket, err
}

// open opens a tab as clients do, and closes it when its page has answered.
func (c *devtools) open(ctx context.Context) error {
	var made struct{ TargetID string }
	var attached struct{ SessionID string }
	if err := c.call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &made); err != nil {
		return err
	}
	if err := c.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}, &attached); err != nil {
		return err
	}
	for _, step := range []struct {
		method string
		params any
	}{
		{"Page.enable", nil}, {"Page.navigate", map[string]any{"url": "data:text/html,<p>a page"}},
		{"Runtime.evaluate", map[string]any{"expression": "navigator.userAgent"}},
	} {
		if err := c.call(ctx, attached.SessionID, step.method, step.params, nil); err != nil {
			return err
		}
	}
	return c.call(ctx, "", "Target.closeTarget", map[string]any{"targetId": made.TargetID}, nil)
}

// call sends a command and reads until its answer.
func (c *devtools) call(ctx context.Context, session, method string, params, result any) error {
	c.last++
	command := map[string]any{"id": c.last, "method": method}
	if session != "" {
		command["sessionId"] = session
	}
	if params != nil {
		command["params"] = params
	}
	if err := wsjson.Write(ctx, c.socket, command); err != nil {
		return err
	}
	for {
		var m struct {
			ID     int
			Result any
			Error  any
		}
		m.Result = result
		if err := wsjson.Read(ctx, c.socket, &m); err != nil {
			return err
		}
		if m.ID == c.last {
			if m.Error != nil {
				return fmt.Errorf("%s: %v", method, m.Error)
			}
			return nil
		}
	}
}

// page is a client that is attached to a page.
type page struct {
	*devtools
	session string
}

// attach connects to a browser and attaches to its first page.
func attach(ctx context.Context, address string) (*page, error) {
	c, err := dialDevTools(ctx, address)
	if err != nil {
		return nil, err
	}
	var targets struct {
		TargetInfos []struct{ TargetID, Type string }
	}
	if err := c.call(ctx, "", "Target.getTargets", nil, &targets); err != nil {
		return nil, err
	}
	for _, t := range targets.TargetInfos {
		if t.Type == "page" {
			var attached struct{ SessionID string }
			err := c.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": t.TargetID, "flatten": true}, &attached)
			return &page{c, attached.SessionID}, err
		}
	}
	return nil, errors.New("the browser has no page")
}

// do sends a command to the page and waits for its answer.
func (p *page) do(ctx context.Context, method string, params any) error {
	return p.call(ctx, p.session, method, params, nil)
}
