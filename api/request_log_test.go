package api

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"warren/testnet"
)

// logLine is a line of the log of requests.
type logLine struct {
	Level, Msg, Request, Operation, Route, Object, Key, Workspace, Problem, Address string

	Status  int
	Ms      *float64
	LeftOut int
}

// logged returns the lines of the log with the message.
func (a *testAPI) logged(t testing.TB, message string) (out []logLine) {
	t.Helper()
	for line := range strings.Lines(a.log.String()) {
		var l logLine
		if err := json.Unmarshal([]byte(line), &l, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if l.Msg == message {
			out = append(out, l)
		}
	}
	return out
}

// awaitLog waits until the log has so many lines with the message: a line is written once the answer has gone out.
func (a *testAPI) awaitLog(t testing.TB, message string, n int) []logLine {
	t.Helper()
	testnet.Eventually(t, message, func() bool { return len(a.logged(t, message)) >= n })
	return a.logged(t, message)
}

// TestLogOfRequests: a change and a refusal each have one line, and what only reads has none at info.
func TestLogOfRequests(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	proxy := a.do(t, "POST", "/proxies", `{"workspaceId":"lab","type":"http","host":"h.test","port":1}`).want(t, 201)
	id := proxy.text("id")
	a.do(t, "GET", "/proxies/"+id, nil).want(t, 200)
	a.do(t, "PUT", "/proxies/"+id, `{"name":"new"}`).want(t, 200)
	a.do(t, "DELETE", "/proxies/"+id, nil).want(t, 204)
	a.do(t, "DELETE", "/proxies/"+id, nil).want(t, 404) // neither a change nor a refusal of the client
	stranger := &testAPI{a.testServer, ""}
	stranger.do(t, "GET", "/proxies", nil).want(t, 401)
	made := a.awaitLog(t, "request changed something", 3)
	if len(made) != 3 {
		t.Fatalf("%+v", made)
	}
	for i, l := range made {
		want := []logLine{{Operation: "addProxy", Route: "POST /api/v1/proxies", Status: 201},
			{Operation: "updateProxy", Route: "PUT /api/v1/proxies/{id}", Workspace: "lab", Status: 200},
			{Operation: "deleteProxy", Route: "DELETE /api/v1/proxies/{id}", Status: 204}}[i]
		if l.Operation != want.Operation || l.Route != want.Route || l.Object != id || l.Key != environmentID || l.Status != want.Status ||
			l.Request == "" || l.Ms == nil || *l.Ms < 0 || l.Level != "INFO" || want.Workspace != "" && l.Workspace != want.Workspace {
			t.Errorf("%+v, want %+v", l, want)
		}
	}
	refused := a.awaitLog(t, "request refused", 1)
	if l := refused[0]; len(refused) != 1 || l.Status != 401 || l.Problem != "unauthorized" || l.Address != "127.0.0.1" || l.Key != "" {
		t.Errorf("%+v", refused)
	}
	if n := len(a.logged(t, "request")); n != 0 {
		t.Errorf("%d lines of requests that changed nothing", n)
	}
}

// TestLogOfEveryRequest: at debug each request has one line.
func TestLogOfEveryRequest(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(c *setup) { c.LogLevel = slog.LevelDebug })
	for _, path := range []string{"/profiles", "/runs"} {
		a.do(t, "GET", path, nil).want(t, 200)
	}
	a.do(t, "POST", "/templates", `{"workspaceId":"lab","name":"x"}`).want(t, 201)
	lines := a.awaitLog(t, "request", 2)
	if lines[0].Operation != "listProfiles" || lines[1].Operation != "listRuns" || lines[0].Level != "DEBUG" || len(lines) != 2 {
		t.Errorf("%+v", lines)
	}
	if made := a.awaitLog(t, "request changed something", 1); made[0].Operation != "createTemplate" || made[0].Object == "" {
		t.Errorf("%+v", made)
	}
}

// TestLogHasNoSecrets: what a client sends in a path, a query, a header or a body is not in the log, at debug either.
func TestLogHasNoSecrets(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(c *setup) { c.LogLevel = slog.LevelDebug })
	key := NewKey()
	const canary = "canary0123456789abcdef0123456789abcdef"
	send := func(method, path, body string, header ...string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, a.base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+testAdminKey)
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close() //nolint:errcheck // the log is what counts
	}
	for _, path := range []string{"/api/v1/profiles/" + canary, "/api/v1/" + canary, "/cdp/" + canary + "/devtools/browser/x",
		"/live/" + canary + "/ws", "/" + canary, "/api/v1/profiles/" + canary + "/downloads/" + canary, "/readyz?" + canary + "=1",
		"/api/v1/profiles?search=" + canary, "/api/v1/profiles?ticket=" + canary} {
		send("GET", path, "")
		send("DELETE", path, "")
		send("POST", path, `{"name":"`+canary+`"}`)
	}
	send("POST", "/api/v1/proxies",
		`{"workspaceId":"lab","type":"http","host":"h.test","port":1,"username":"`+canary+`","password":"`+canary+`"}`)
	send("POST", "/api/v1/profiles", `{"name":"`+canary+`","startUrl":"https://`+canary+`.test/"}`)
	send("GET", "/api/v1/profiles", "", "X-Request-Id", key)
	send("GET", "/api/v1/profiles", "", "Authorization", "Bearer "+key)
	send("GET", "/api/v1/profiles", "", "Cookie", canary, "Idempotency-Key", canary, "User-Agent", canary, "Origin", "https://"+canary)
	send("GET", "/api/v1/runs", "")
	a.awaitLog(t, "request", 15)
	testnet.Eventually(t, "the last line", func() bool { return strings.Contains(a.log.String(), "listRuns") })
	for _, secret := range []string{canary, key, testAdminKey} {
		for line := range strings.Lines(a.log.String()) {
			if strings.Contains(line, secret) {
				t.Errorf("the log has a secret: %s", line)
			}
		}
	}
}

// TestLogOfAFlood: of a thousand refusals the log takes few, and says how many it left out.
func TestLogOfAFlood(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const flood = 1000
	for range flood {
		answer, err := http.Get(a.base + Prefix + "/profiles")
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close() //nolint:errcheck // only its line counts
	}
	count := func() (lines, left int) {
		for _, l := range a.logged(t, "request refused") {
			lines, left = lines+1, left+l.LeftOut
		}
		for _, l := range a.logged(t, "refused requests were left out of the log") {
			left += l.LeftOut
		}
		return lines, left
	}
	testnet.Eventually(t, "all are counted", func() bool {
		a.srv.logLeftOut()
		lines, left := count()
		return lines+left == flood
	})
	if lines, left := count(); lines < refusalsAtOnce || lines > flood/4 || left == 0 {
		t.Errorf("%d lines, and %d were left out", lines, left)
	}
	if size := bytes.Count([]byte(a.log.String()), []byte("\n")); size > flood/4 {
		t.Errorf("the log has %d lines", size)
	}
}

// TestMetricsNeedAllWorkspaces: the metrics are for keys that see all workspaces and may read.
func TestMetricsNeedAllWorkspaces(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	if r := a.do(t, "GET", "//metrics", nil).want(t, 200); !strings.HasPrefix(string(r.body), "warren_") {
		t.Errorf("%s", r.body)
	}
	key := a.do(t, "POST", "/keys", `{"name":"x","scopes":["read"],"workspaces":["lab"]}`).want(t, 201).text("key")
	a.as(key).do(t, "GET", "//metrics", nil).refused(t, 403, "forbidden")
	a.as("").do(t, "GET", "//metrics", nil).refused(t, 401, "unauthorized")
	a.do(t, "POST", "//metrics", nil).refused(t, 405, "method_not_allowed")
	if n := a.srv.Requests(); n["2xx"] < 2 || n["4xx"] != 3 || n["5xx"] != 0 {
		t.Errorf("answers by class: %v", n)
	}
}
