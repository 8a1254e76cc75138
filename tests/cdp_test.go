package tests

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// A small CDP client, as a user would write one.

// cdpClient is a client of a run's gateway. Its calls come one after the other.
type cdpClient struct {
	t    testing.TB
	ws   *websocket.Conn
	last int
}

// dialCDP connects as a program does, with the header when it is not nil.
func dialCDP(t testing.TB, address string, header http.Header) *cdpClient {
	t.Helper()
	c, status, err := tryCDP(t, address, header)
	if err != nil {
		t.Fatalf("connect to %s: %d %v", address, status, err)
	}
	return c
}

func tryCDP(t testing.TB, address string, header http.Header) (*cdpClient, int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), enough)
	defer cancel()
	ws, res, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		status := 0
		if res != nil {
			status = res.StatusCode
		}
		return nil, status, err
	}
	ws.SetReadLimit(64 << 20)
	t.Cleanup(func() { ws.CloseNow() })
	return &cdpClient{t: t, ws: ws}, 101, nil
}

// try sends a command and returns its answer; what else comes meanwhile is not asked for.
func (c *cdpClient) try(session, method string, params any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(context.Background(), enough)
	defer cancel()
	c.last++
	msg := map[string]any{"id": c.last, "method": method}
	if params != nil {
		msg["params"] = params
	}
	if session != "" {
		msg["sessionId"] = session
	}
	text, err := json.Marshal(msg)
	if err != nil {
		return nil, err
	}
	if err := c.ws.Write(ctx, websocket.MessageText, text); err != nil {
		return nil, err
	}
	for {
		_, text, err := c.ws.Read(ctx)
		if err != nil {
			return nil, err
		}
		var answer struct {
			ID     int
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(text, &answer); err != nil {
			return nil, err
		}
		if answer.ID != c.last {
			continue
		}
		if answer.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, answer.Error.Message)
		}
		return answer.Result, nil
	}
}

func (c *cdpClient) call(session, method string, params, out any) {
	c.t.Helper()
	result, err := c.try(session, method, params)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	if out != nil {
		if err := json.Unmarshal(result, out); err != nil {
			c.t.Fatalf("%s: %v", method, err)
		}
	}
}

// pages are the addresses of the open pages.
func (c *cdpClient) pages() (urls []string, ids []string) {
	c.t.Helper()
	var got struct {
		TargetInfos []struct{ TargetID, Type, URL string }
	}
	c.call("", "Target.getTargets", nil, &got)
	for _, info := range got.TargetInfos {
		if info.Type == "page" {
			urls, ids = append(urls, info.URL), append(ids, info.TargetID)
		}
	}
	return urls, ids
}

// open opens a page and returns a session on it.
func (c *cdpClient) open(address string) (session string) {
	c.t.Helper()
	var made struct{ TargetID string }
	c.call("", "Target.createTarget", map[string]any{"url": address}, &made)
	return c.attach(made.TargetID)
}

func (c *cdpClient) attach(target string) (session string) {
	c.t.Helper()
	var s struct{ SessionID string }
	c.call("", "Target.attachToTarget", map[string]any{"targetId": target, "flatten": true}, &s)
	return s.SessionID
}

// eval runs an expression on a page, and waits for its promise.
func (c *cdpClient) eval(session, expression string) string {
	c.t.Helper()
	var r struct {
		Result           struct{ Value any }
		ExceptionDetails any
	}
	c.call(session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	if r.ExceptionDetails != nil {
		return fmt.Sprintf("threw %v", r.ExceptionDetails)
	}
	return fmt.Sprint(r.Result.Value)
}

// get fetches an address from inside a page: "200 …", or "failed" when nothing came.
func (c *cdpClient) get(session, address string) string {
	c.t.Helper()
	return c.eval(session, fmt.Sprintf(`fetch(%q).then(r => r.text().then(t => r.status + " " + t), () => "failed")`, address))
}

// awaitURL waits until a page shows an address.
func (c *cdpClient) awaitURL(session, address string) {
	c.t.Helper()
	eventually(c.t, "the page shows "+address, enough, func() bool {
		return c.eval(session, `document.readyState == "complete" ? location.href : ""`) == address
	})
}

// awaitEnd waits until the server ends the connection.
func (c *cdpClient) awaitEnd(within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for {
		if _, _, err := c.ws.Read(ctx); err != nil {
			return ctx.Err()
		}
	}
}

// TestChromedriver drives a run over its debug port: as Selenium does with debuggerAddress.
func TestChromedriver(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	driver, err := exec.LookPath("chromedriver")
	if err != nil {
		t.Skip("needs chromedriver (apt-get install chromium-driver)")
	}
	s := newTestbed(t).serve()
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	address := *s.start(id, map[string]any{"debugPort": true}).DebuggerAddress
	cmd := exec.Command(driver, "--port=0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	base := ""
	for lines := bufio.NewScanner(out); base == "" && lines.Scan(); {
		if _, rest, found := strings.Cut(lines.Text(), "on port "); found && strings.HasSuffix(rest, ".") {
			base = "http://127.0.0.1:" + strings.TrimSuffix(rest, ".")
		}
	}
	ask := func(method, path string, body any) (value json.RawMessage) {
		t.Helper()
		var text []byte
		if body != nil {
			text, _ = json.Marshal(body)
		}
		req, err := http.NewRequest(method, base+path, bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var answer struct{ Value json.RawMessage }
		if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode != 200 {
			t.Fatalf("%s %s: %d %v %.300s", method, path, res.StatusCode, err, answer.Value)
		}
		return answer.Value
	}
	options := map[string]any{"goog:chromeOptions": map[string]any{"debuggerAddress": address}}
	var session struct{ SessionID string }
	if err := json.Unmarshal(ask("POST", "/session", map[string]any{"capabilities": map[string]any{"alwaysMatch": options}}),
		&session); err != nil {
		t.Fatal(err)
	}
	at := "/session/" + session.SessionID
	ask("POST", at+"/url", map[string]string{"url": s.world.url("/driven")})
	if got := string(ask("GET", at+"/url", nil)); got != `"`+s.world.url("/driven")+`"` {
		t.Errorf("the page is at %s", got)
	}
	ask("POST", at+"/window/new", map[string]string{"type": "tab"})
	ask("DELETE", at, nil)
	if !slices.Contains(s.world.paths(), "/driven") || s.get(id).Status != "running" {
		t.Errorf("the site saw %v, and the profile is %s", s.world.paths(), s.get(id).Status)
	}
}
