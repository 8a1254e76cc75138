package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"warren/browser"
)

// measureIdentity compares a browser with another identity (system, version, zone, language, place and screen) with
// the same one without. It measures the start, and a tab that a DevTools client opens, attaches to, navigates and
// evaluates in. The two folders change sides.
func (b *bench) measureIdentity(ctx context.Context) error {
	found, err := browser.Find(ctx, "")
	if err != nil {
		return err
	}
	if err := browser.CheckIsolation(); err != nil && os.Geteuid() == 0 {
		fmt.Fprintln(os.Stderr, "identity: skipped,", err)
		return nil
	}
	dir, err := os.MkdirTemp(os.TempDir(), "wbe") // short: Chrome creates a unix socket in it
	if err != nil {
		return err
	}
	b.cleanup = append(b.cleanup, func() { os.RemoveAll(dir) })
	spec := browser.Spec{Path: found.Path, Headless: true}
	other := spec
	other.Product, other.Version = found.Product, found.Version
	other.Identity = browser.Identity{OS: "win", Version: "124", Timezone: "America/New_York", Languages: []string{"de-DE", "de"},
		Geolocation: &browser.Geolocation{Latitude: 52.5, Longitude: 13.4, Accuracy: 50},
		Screen:      &browser.Screen{Width: 1920, Height: 1080, DeviceScaleFactor: 1}}
	one := func(s browser.Spec, which int) func(context.Context, int) ([]float64, error) {
		return func(ctx context.Context, round int) ([]float64, error) {
			folder := strconv.Itoa((which + round) % 2)
			s.UserDataDir, s.TempDir = filepath.Join(dir, folder), filepath.Join(dir, "t"+folder)
			return startAndOpen(ctx, s)
		}
	}
	for round := range 2 { // warms both folders
		if _, err := one(spec, 0)(ctx, round); err != nil {
			return err
		}
	}
	got, err := b.play(ctx, "identity", 3*b.rounds, side{"told", one(other, 0)}, side{"not told", one(spec, 1)})
	if err != nil {
		return err
	}
	b.table = append(b.table,
		figure{name: "start with another identity, against without", unit: "ms", ours: got[0][0], floor: got[1][0], aim: 1.1},
		figure{name: "new tab with another identity, against without", unit: "ms", ours: got[0][1], floor: got[1][1], aim: 1.1})
	return nil
}

// tabs is how many tabs are opened, one after the other; their mean counts.
const tabs = 20

// startAndOpen returns the milliseconds of a start and of a tab.
func startAndOpen(ctx context.Context, s browser.Spec) (took []float64, err error) {
	begun := time.Now()
	run, err := browser.Open(s)
	if err != nil {
		return nil, err
	}
	relay := deadRelay()
	relay.Admit(run.Admit)
	go relay.Serve(run.Listener()) //nolint:errcheck // ends with Close
	defer func() { err = errors.Join(err, relay.Close(), run.Close()) }()
	if err := run.Start(ctx); err != nil {
		return nil, err
	}
	took = append(took, milliseconds(time.Since(begun)))
	defer run.Stop(ctx, false)
	gateway := httptest.NewServer(run.Gateway())
	defer gateway.Close()
	socket, _, err := websocket.Dial(ctx, gateway.URL, nil)
	if err != nil {
		return nil, err
	}
	defer socket.CloseNow() //nolint:errcheck // the round is over
	c := &devtools{socket: socket}
	if err := c.open(ctx); err != nil { // the first tab warms up
		return nil, err
	}
	begun = time.Now()
	for range tabs {
		if err := c.open(ctx); err != nil {
			return nil, err
		}
	}
	return append(took, milliseconds(time.Since(begun))/tabs), nil
}

// devtools is a plain DevTools client.
type devtools struct {
	socket *websocket.Conn
	last   int
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
