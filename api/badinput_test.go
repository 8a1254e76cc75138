package api

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/go-json-experiment/json"
)

// Sends bad input to every operation. Each case gets a 4xx with the right code and every fault, and changes nothing.

// badCase is a request that must be refused.
type badCase struct {
	name, method, path string
	body               []byte
	contentType        string
	status             int
	code               string
	fault              string // a location that errors must name; "" for any
}

// hostileText are strings that look like something else: flags, paths, queries, terminal codes, markup, names of types. No
// enumeration has one of them.
func hostileText() []string {
	return []string{
		"--renderer-cmd-prefix=/tmp/evil.sh", "--no-sandbox", "--remote-debugging-port=9222", "--load-extension=/tmp/x",
		"--proxy-server=direct://", "-", "--",
		"../../../../etc/passwd", "/etc/shadow", `C:\Windows\System32`, `\\evil\share`, "file:///etc/passwd", "con", "a/../b", ".", "..",
		"~root",
		"' OR 1=1 --", "'; DROP TABLE profiles; --", `" OR ""="`, "%27", "%s%s%s%n", "{{7*7}}", "${jndi:ldap://evil}", "$(id)", "`id`",
		"|id", ";id", "&&id",
		"<script>alert(1)</script>", "javascript:alert(1)", "data:text/html,<script>", "\u202egnp.exe", "\ufeff", "\u200b", "\U0001f4a9",
		"ＡＢＣ", "İıſ",
		"null", "undefined", "NaN", "true", "[object Object]", "\\u0000", "__proto__", "SOCKS5 ", "auto ", "win\t", "Europe/../Berlin",
		"en-US\r\nX: y", "999999999999999999999",
	}
}

// controlText are strings with characters that no text member accepts.
func controlText() []string {
	return []string{"\x00", "a\x00b", "\x1b[31mred", "bell\x07", "\x7f", "a\u0085b", "\u009b31m", "a\x08\x08b", "\x01\x02"}
}

// member is a member of a body: its type, and whether it accepts any text.
type member struct {
	name, kind string // text, integer, number, boolean, list (of texts), object, mixed
	free       bool   // any text without control characters is taken
	required   bool   // null is refused
}

// bodied is an operation with a body.
type bodied struct {
	method, path string
	base         map[string]any // makes a body with one odd member complete
	members      []member
	required     bool // the body is required
}

func bodiedOperations(profile, proxy string) []bodied {
	profileMembers := []member{{"name", "text", true, true}, {"os", "text", false, false}, {"browserVersion", "mixed", false, false},
		{"tags", "list", true, false},
		{"notes", "text", true, false}, {"proxyId", "text", false, false}, {"fallbackProxyIds", "list", false, false}, {"fallbackCountry",
			"text", false, false}, {"logHosts", "boolean", false, false}, {"localhostVia", "ports", false, false}, {"allowHosts", "list",
			false, false}, {"denyHosts", "list", false, false}, {"startUrls", "list", false, false}, {"timezone", "text", false, false},
		{"locale", "mixed", false, false}, {"geolocation", "mixed", false, false}, {"webrtc", "text", false, false}, {"screen", "object",
			false, false},
		{"headless", "boolean", false, false}, {"idleTimeoutMs", "integer", false, false}, {"maxRunMs", "integer", false, false},
		{"temporary", "boolean", false, false}, {"snapshots", "text", false, false},
		{"passkeys", "text", false, false}, {"extensions", "uses", false, false},
		{"startWithServer", "boolean", false, false}, {"limits", "limits", false, false},
		{"freezeAfter", "count", false, false}, {"placement", "placement", false, false},
		{"args", "list", false, false}, {"workspaceId", "text", false, false}}
	proxyMembers := []member{{"type", "text", false, true}, {"host", "text", false, true}, {"port", "integer", false, true},
		{"username", "text", true, false},
		{"password", "text", true, false}, {"name", "text", true, false}, {"tags", "list", true, false}, {"notes", "text", true, false},
		{"rotateUrl", "text", false, false}, {"workspaceId", "text", false, false}}
	keyMembers := []member{{"name", "text", true, true}, {"scopes", "list", false, true}, {"workspaces", "list", false, false},
		{"expiresAt", "text", false, false}}
	startMembers := []member{{"headless", "boolean", false, false}, {"startUrls", "list", false, false}, {"proxyId", "text", false, false},
		{"preflight", "text", false, false}, {"dryRun", "boolean", false, false}, {"debugPort", "boolean", false, false},
		{"repair", "boolean", false, false}}
	address := map[string]any{"type": "socks5", "host": "bad.example", "port": 1080, "username": "u"}
	scheduleMembers := []member{{"name", "text", true, true}, {"workspaceId", "text", true, false}, {"enabled", "boolean", false, false},
		{"action", "text", false, true}, {"cron", "text", false, false}, {"timeZone", "text", false, false},
		{"everyMs", "integer", false, false}, {"tag", "text", true, false}, {"profileIds", "list", false, false},
		{"proxyIds", "list", false, false}, {"startUrls", "list", false, false}, {"maxRunMs", "integer", false, false},
		{"catchUp", "boolean", false, false}}
	webhookMembers := []member{{"url", "text", false, true}, {"events", "list", false, true}, {"enabled", "boolean", false, false},
		{"workspaceId", "text", true, false}}
	return []bodied{
		{"POST", "/webhooks", map[string]any{"url": "https://127.0.0.1:1/", "events": []string{"capability.*"}}, webhookMembers, true},
		{"POST", "/profiles", map[string]any{"name": "bad"}, profileMembers, true},
		{"PUT", "/profiles/" + profile, nil, profileMembers, true}, {"PATCH", "/profiles/" + profile, nil, profileMembers, true},
		{"POST", "/schedules", map[string]any{"name": "bad", "everyMs": 31536000000, "action": "start", "tag": "t"}, scheduleMembers, true},
		{"POST", "/proxies", address, proxyMembers, true}, {"POST", "/proxies/check", address, proxyMembers, true},
		{"PUT", "/proxies/" + proxy, map[string]any{"username": "u"}, proxyMembers, true}, {"PATCH", "/proxies/" + proxy,
			map[string]any{"username": "u"}, proxyMembers, true},
		{"POST", "/keys", map[string]any{"name": "bad", "scopes": []string{"read"}}, keyMembers, true},
		{"POST", "/tickets", map[string]any{"path": "/api/v1/profiles/x/cdp"}, []member{{"path", "text", false, true}}, true},
		{"POST", "/profiles/" + profile + "/start", map[string]any{"dryRun": true}, startMembers, false},
		{"POST", "/profiles/" + profile + "/stop", nil, []member{{"force", "boolean", false, false}}, false},
		{"POST", "/profiles/" + profile + "/capabilities", nil, []member{{"name", "text", true, false}, {"readonly", "boolean", false,
			false}, {"expiresInMs", "integer", false, false}}, false},
		{"POST", "/profiles/" + profile + "/restore", nil, nil, false}, {"POST", "/profiles/" + profile + "/failback", nil, nil, false},
		{"POST", "/proxies/" + proxy + "/check", nil, nil, false},
	}
}

// takes reports whether the member accepts a hostile text all the same, as names of workspaces and hosts may.
func (m member) takes(s string) bool {
	switch m.name {
	case "workspaceId", "workspaces":
		return plainID.MatchString(s)
	case "host", "allowHosts", "denyHosts":
		return plainHost.MatchString(s) || s == "\U0001f4a9" || s == "ＡＢＣ" || s == "İıſ"
	}
	return false
}

var (
	plainID   = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	plainHost = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	aPort     = regexp.MustCompile(`127\.0\.0\.1:\d+`)
)

// wrongTypes are values that a member of the kind never accepts.
func wrongTypes(kind string) []any {
	object, list := map[string]any{"a": 1}, []any{[]any{}}
	switch kind {
	case "text":
		return []any{1, 0, -1.5, true, false, object, map[string]any{}, list, []any{}, []any{"x"}}
	case "integer":
		return []any{"1", "", true, object, list, []any{1}, 1.5, 0, -1, 1e99, 99999999999999999999.0}
	case "count": // 0 is one
		return []any{"1", "", true, object, list, []any{1}, 1.5, -1, 2592001, 1e99, 99999999999999999999.0}
	case "boolean":
		return []any{"true", "", 0, 1, 0.5, object, list, []any{true}}
	case "list":
		return []any{"x", "", 1, true, object, []any{1}, []any{nil}, []any{[]any{}}, []any{map[string]any{}}, []any{"", ""}}
	case "ports":
		return []any{"x", "", 1, true, object, []any{0}, []any{1.5}, []any{nil}, []any{[]any{}}, []any{map[string]any{}}, []any{"", ""}}
	case "uses":
		return []any{"x", 1, true, object, []any{1}, []any{nil}, []any{[]any{}}, []any{map[string]any{}}, []any{map[string]any{"id": 1}},
			[]any{map[string]any{"id": "x"}}, []any{map[string]any{"id": "x", "enabled": "true"}},
			[]any{map[string]any{"id": "x", "more": 1}}}
	case "object":
		return []any{"x", 1, true, list, []any{}, object, map[string]any{}, map[string]any{"width": "1920", "height": "1080"},
			map[string]any{"width": 1920.5, "height": 1080}}
	case "placement":
		return []any{"x", "zone=a", 1, true, list, []any{}, object, map[string]any{}, map[string]any{"labels": nil},
			map[string]any{"labels": "zone=a"}, map[string]any{"labels": map[string]any{"zone": 1}},
			map[string]any{"labels": map[string]any{"zone": nil}},
			map[string]any{"labels": map[string]any{"": "a"}}, map[string]any{"labels": map[string]any{"zone": "a b"}},
			map[string]any{"labels": map[string]any{}, "zone": "a"}}
	case "limits":
		return []any{"x", 1, true, list, []any{}, object, map[string]any{"memoryMb": 255}, map[string]any{"memoryMb": "512"},
			map[string]any{"cpuPercent": 0}, map[string]any{"pids": 1.5}}
	}
	return []any{true, false, 1.5, -1, 0, object, map[string]any{}, list, []any{}, []any{1}, []any{nil}}
}

// memberCases are the cases of one member of an operation.
func (b bodied) memberCases(m member) (out []badCase) {
	add := func(what string, value any) {
		body := maps.Clone(b.base)
		if body == nil {
			body = map[string]any{}
		}
		body[m.name] = value
		text, err := json.Marshal(body, json.Deterministic(true))
		if err != nil {
			panic(err)
		}
		out = append(out, badCase{name: m.name + " " + what, method: b.method, path: b.path, body: text, status: 422,
			code: "validation_failed", fault: "body." + m.name})
	}
	for _, v := range wrongTypes(m.kind) {
		add(fmt.Sprintf("%#v", v), v)
	}
	if m.required {
		add("null", nil)
	}
	if slices.Contains([]string{"integer", "count", "boolean", "object", "uses", "limits", "placement"}, m.kind) {
		return out
	}
	texts := append(controlText(), strings.Repeat("x", 300<<10))
	if m.name == "username" || m.name == "password" { // any byte but NUL, CR and LF
		texts = []string{"\x00", "a\x00b", "\r", "a\nb", strings.Repeat("x", 300<<10)}
	}
	if !m.free {
		texts = append(texts, hostileText()...)
	}
	for _, s := range texts {
		if m.takes(s) {
			continue
		}
		if m.kind == "list" {
			add(fmt.Sprintf("[%.40q]", s), []string{s})
		} else {
			add(fmt.Sprintf("%.40q", s), s)
		}
	}
	upper := strings.ToUpper(m.name[:1]) + m.name[1:]
	for _, other := range []string{upper, strings.ToUpper(m.name), " " + m.name, m.name + " ", m.name + "\u0000"} {
		out = append(out, badCase{name: "member " + other, method: b.method, path: b.path, body: b.with(other, "1"), status: 422,
			code: "validation_failed", fault: "body." + other})
	}
	return out
}

// with returns a complete body with one more member, given as JSON.
func (b bodied) with(name, value string) []byte {
	text, err := json.Marshal(b.base, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	if b.base == nil {
		text = []byte("{}")
	}
	quoted, err := json.Marshal(name)
	if err != nil {
		panic(err)
	}
	comma := ","
	if len(b.base) == 0 {
		comma = ""
	}
	return fmt.Appendf(nil, "%s%s%s:%s}", text[:len(text)-1], comma, quoted, value)
}

// wholeCases are bodies that are broken as a whole.
func (b bodied) wholeCases() (out []badCase) {
	add := func(status int, code, fault string, bodies ...string) {
		for _, body := range bodies {
			out = append(out, badCase{name: fmt.Sprintf("%.60q", body), method: b.method, path: b.path, body: []byte(body), status: status,
				code: code, fault: fault})
		}
	}
	add(400, "malformed_json", "", " ", "\n", "{", "}", "[", "nul", "{}x", "{}{}", "{} {}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`,
		`{'a':1}`, `{a:1}`, `{"a":01}`, `{"a":+1}`, `{"a":.5}`, `{"a":NaN}`,
		`{"a":Infinity}`, `{"a":"`+"\n"+`"}`, `{"a":"\x"}`, `{"a":"\ud800"}`, `{"a":"\udc00\ud800"}`, "{\"a\":\"\xff\"}",
		"{\"\xc3\x28\":1}", "{\"a\":\"\xc0\xaf\"}", "{\"a\":\"\xed\xa0\x80\"}", "\xef\xbb\xbf{}",
		"\xff\xfe{\x00}\x00", "// c\n{}", "/**/{}", `{"a":1 /*c*/}`, `{"a":1}#`, `{"name":"a","name":"b"}`, `{"x":{"y":1,"y":2}}`,
		`{"name":"a","n\u0061me":"b"}`, `{"tags":[{"a":1,"a":1}]}`,
		"name=x&os=win", "<xml/>", `{"a":`+strings.Repeat("[", 20000)+strings.Repeat("]", 20000)+"}", strings.Repeat("[", 500000),
		strings.Repeat(`{"a":`, 100000), "\x00", "{}\x00", `{"a":1e400}`, `{"a":-1e999}`)
	if b.required {
		add(400, "malformed_json", "", "")
	}
	add(422, "validation_failed", "body", "[]", `"x"`, "1", "true", "[{}]", `[{"name":"x"}]`)
	if b.required {
		add(422, "validation_failed", "body", "null")
	}
	for _, name := range []string{"nope", "", "__proto__", "constructor", "$schema", "id", "data", "error", strings.Repeat("n", 100)} {
		out = append(out, badCase{name: "member " + name, method: b.method, path: b.path, body: b.with(name, "null"), status: 422,
			code: "validation_failed", fault: "body." + name})
	}
	big := strings.Repeat(" ", 1<<20)
	add(413, "body_too_large", "", big+" ", `{"name":"`+strings.Repeat("x", 1<<20)+`"}`)
	for _, ct := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml",
		"text/json", "application/jsonx", "application/x-json",
		"application", "/", "*/*", "json/application", "application/octet-stream", "text/html; charset=utf-8",
		"application/json, text/plain", "image/svg+xml"} {
		out = append(out, badCase{name: ct, method: b.method, path: b.path, body: []byte("{}"), contentType: ct, status: 415,
			code: "unsupported_media_type"})
	}
	return out
}

// queryCases are bad values of every parameter of every list and of the operations on one profile.
func queryCases(profile string) (out []badCase) {
	closed := map[string][]string{"/profiles": {"page", "limit", "status", "os", "sort", "order", "trashed"}, "/proxies": {"page", "limit",
		"type", "status", "country", "sort", "order"}, "/keys": {"page", "limit"},
		"/workspaces": {"page", "limit"}, "/profiles/" + profile: {"trashed"}}
	texts := append(append(hostileText(), controlText()...), "1.5", "-1", "0x10", "1e3", "99999999999999999999", "\xff\xfe", "１")
	for path, names := range closed {
		for _, name := range names {
			for _, s := range texts {
				if name == "trashed" && s == "true" || s == "-1" && name != "page" && name != "limit" {
					continue
				}
				out = append(out, badCase{name: fmt.Sprintf("?%s=%.40q", name, s), method: "GET", path: path + "?" + name + "=" +
					url.QueryEscape(s), status: 422, code: "validation_failed", fault: "query." + name})
			}
		}
	}
	for _, path := range []string{"/profiles", "/proxies", "/keys", "/workspaces", "/templates", "/schedules", "/webhooks", "/runs",
		"/profiles/" + profile,
		"/profiles/" +
			profile + "?trashed=false"} {
		for _, name := range []string{"nope", "Page", "LIMIT", "page[]", "page[gt]", "$where", "x\x00y", "\xff", "__proto__", "callback"} {
			separator := "?"
			if strings.Contains(path, "?") {
				separator = "&"
			}
			out = append(out, badCase{name: "parameter " + name, method: "GET", path: path + separator + url.QueryEscape(name) + "=1",
				status: 422, code: "validation_failed",
				fault: "query." + strings.ToValidUTF8(name, "")})
		}
	}
	return out
}

// inventory returns all objects, as the lists show them.
func (a *testAPI) inventory(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	for _, path := range []string{"/profiles?limit=200", "/profiles?limit=200&trashed=true", "/proxies", "/keys?limit=200",
		"/workspaces?limit=200", "/templates?limit=200", "/schedules?limit=200", "/runs"} {
		b.Write(a.do(t, "GET", path, nil).want(t, 200).body)
	}
	return b.String()
}

// TestBadInput: every case is refused with its code. Nothing has changed afterwards, and the log has no errors.
func TestBadInput(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	profile, proxy := a.profile(t, "workspaceId", "w"), a.proxy(t, "workspaceId", "w")
	cases := queryCases(profile)
	for _, b := range bodiedOperations(profile, proxy) {
		cases = append(cases, b.wholeCases()...)
		for _, m := range b.members {
			cases = append(cases, b.memberCases(m)...)
		}
	}
	before, logged := a.inventory(t), len(a.log.String())
	work := make(chan badCase)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for c := range work {
				a.refuses(t, c)
			}
		})
	}
	for _, c := range sampled(cases) {
		work <- c
	}
	close(work)
	wg.Wait()
	if after := a.inventory(t); after != before {
		t.Errorf("something changed:\n%s\nwas\n%s", after, before)
	}
	if log := a.log.String()[logged:]; log != "" {
		t.Errorf("the log grew:\n%.3000s", log)
	}
	if len(cases) < 2000 {
		t.Errorf("%d cases, want 2,000", len(cases))
	}
	t.Logf("%d cases", len(cases))
}

// refuses sends one case.
func (a *testAPI) refuses(t *testing.T, c badCase) {
	req := a.request(t, c.method, c.path, nil)
	if c.method != "GET" {
		req = a.request(t, c.method, c.path, c.body)
	}
	if c.contentType != "" {
		req.Header.Set("Content-Type", c.contentType)
	}
	r := a.send(t, req)
	if r.status != c.status || r.text("code") != c.code {
		t.Errorf("%s %s %s:\ngot %s\nwant %d %s", c.method, c.path, c.name, r, c.status, c.code)
		return
	}
	named := slices.ContainsFunc(r.faults(), func(at string) bool {
		return at == c.fault || strings.HasPrefix(at, c.fault+".") || strings.HasPrefix(at, c.fault+"[")
	})
	if c.fault != "" && !named {
		t.Errorf("%s %s %s: got faults %q, want %q among them", c.method, c.path, c.name, r.faults(), c.fault)
	}
	if len(r.body) > 4096 {
		t.Errorf("%s %s %s: the answer has %d bytes", c.method, c.path, c.name, len(r.body))
	}
	if c.status == 422 && len(c.body) > 1000 && bytes.Contains(r.body, c.body[len(c.body)/2:len(c.body)/2+200]) {
		t.Errorf("%s %s %s: repeats what was sent: %s", c.method, c.path, c.name, r)
	}
}

// TestHarmlessText: hostile text is stored and answered unchanged by members that accept any text. It never reaches the browser's
// command line.
func TestHarmlessText(t *testing.T) {
	t.Parallel()
	needIsolation(t)
	a := newAPI(t)
	arguments := func(id string) string {
		r := a.do(t, "POST", "/profiles/"+id+"/start", `{"dryRun":true}`).want(t, 200)
		text, err := json.Marshal(r.at("arguments"))
		if err != nil {
			t.Fatal(err)
		}
		return aPort.ReplaceAllString(strings.ReplaceAll(string(text), id, "ID"), "ADDRESS")
	}
	id := a.profile(t)
	want := arguments(id)
	for _, s := range append(hostileText(), "http://a.example/--flag", strings.Repeat("-", 60)) {
		if strings.TrimSpace(s) != s || strings.ContainsAny(s, "\t\r\n") || strings.ContainsFunc(s, func(r rune) bool {
			return r == 'ſ' ||
				r == '\ufeff'
		}) && len(s) < 4 {
			continue
		}
		name := s
		// names have no invisible characters: TestInvisible
		if strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Cf, r) }) {
			name = "seen"
		}
		r := a.do(t, "PUT", "/profiles/"+id, map[string]any{"name": name, "notes": s, "tags": []string{name},
			"startUrls": []string{"https://a.example/" + url.PathEscape(s)}, "maxRunMs": 1000}).want(t, 200)
		r.equal(t, "name", name)
		r.equal(t, "notes", s)
		r.equal(t, "tags", []string{name})
		if got := arguments(id); got != want {
			t.Fatalf("%q changes the command line:\n%s\nwant\n%s", s, got, want)
		}
	}
	for _, c := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON", "application/json;charset=UTF-8",
		"application/merge-patch+json", ""} {
		req := a.request(t, "PATCH", "/profiles/"+id, `{"name":"typed"}`)
		req.Header.Set("Content-Type", c)
		if c == "" {
			req.Header.Del("Content-Type")
		}
		a.send(t, req).want(t, 200)
	}
	exact := fmt.Sprintf(`{"name":"exact"%s}`, strings.Repeat(" ", 1<<20-len(`{"name":"exact"}`)))
	a.do(t, "POST", "/profiles", exact).want(t, 201)
	a.do(t, "POST", "/profiles", exact+" ").refused(t, 413, "body_too_large")
}

// TestManyFaults: an error lists every fault, up to a number that no honest request reaches.
func TestManyFaults(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	tags := make([]string, 150)
	r := a.do(t, "POST", "/profiles", map[string]any{"name": "", "tags": tags}).refused(t, 422, "validation_failed")
	if n := len(r.faults()); n != 151 {
		t.Errorf("%d faults, want name, and 150 tags", n)
	}
	r = a.do(t, "POST", "/profiles", map[string]any{"name": "x", "tags": make([]string, maxValues-10)}).refused(t, 422, "validation_failed")
	if n := len(r.faults()); n > maxFaults+1 || len(r.body) > 64<<10 {
		t.Errorf("%d faults in %d bytes", n, len(r.body))
	}
}

// TestHalfABody: the server does not wait for the body of a request that it refuses anyway.
func TestHalfABody(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	head := "POST /api/v1/profiles HTTP/1.1\r\nHost: " + a.hostPort() + "\r\nContent-Type: application/json\r\nContent-Length: 10\r\n"
	if status, _ := a.raw(t, head+"\r\n"); status != "HTTP/1.1 401 Unauthorized" {
		t.Errorf("without a key: %s", status)
	}
	if status, rest := a.raw(t, head+"Authorization: Bearer "+a.key+"\r\nIdempotency-Key: "+strings.Repeat("k",
		201)+"\r\n\r\n"); !strings.HasSuffix(status, "422 Unprocessable Entity") {
		t.Errorf("with a fault that is seen before the body: %s %s", status, rest)
	}
}

// TestNoPartOfASecret: errors for broken JSON repeat no part of the body.
func TestNoPartOfASecret(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, password := range []string{`\ud800hunter2secret`, `\uhunter2`, `\hunter2`, "hunter2\x01", `hunter2\ud83d`} {
		r := a.do(t, "POST", "/proxies", `{"type":"socks5","host":"h","port":1,"password":"`+password+`"}`)
		if r.status < 400 || strings.Contains(string(r.body), "hunt") {
			t.Errorf("%q: %s", password, r)
		}
	}
}
