package api

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"warren/problem"
	"warren/runs"
)

// TestTheTenOperations is a client written from interface.md alone: it sends what stands there and nothing else.
func TestTheTenOperations(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	workspace := "team-1"
	// 3. Create a profile, exactly as the payload stands.
	created := a.do(t, "POST", "/profiles", `{"name":"First","os":"win","browserVersion":"124","workspaceId":"team-1"}`).want(t, 201)
	id := created.text("id")
	created.equal(t, "name", "First")
	created.equal(t, "os", "win")
	created.equal(t, "browserVersion", "124")
	created.equal(t, "workspaceId", workspace)
	// 1 and 2. List and get.
	list := a.do(t, "GET", "/profiles?workspaceId=team-1&page=1&limit=20", nil).want(t, 200)
	list.equal(t, "data.0.id", id)
	list.equal(t, "total", 1)
	a.do(t, "GET", "/profiles/"+id, nil).want(t, 200).equal(t, "id", id)
	// 4. Update.
	updated := a.do(t, "PUT", "/profiles/"+id, `{"name":"Renamed","tags":["a","b"]}`).want(t, 200)
	updated.equal(t, "name", "Renamed")
	updated.equal(t, "tags", []string{"a", "b"})
	updated.equal(t, "os", "win")
	// 6. Start: no body. There is no browser to start here; what matters is that nothing about the request is refused.
	a.loseBrowser(t)
	a.do(t, "POST", "/profiles/"+id+"/start", nil).refused(t, 503, "browser_not_found")
	// 8 and 7. Add a proxy and list.
	proxy := a.do(t, "POST", "/proxies", `{"workspaceId":"team-1","type":"socks5","host":"127.0.0.1","port":9,
		"username":"u","password":"p"}`).want(t, 201)
	proxyID := proxy.text("id")
	a.do(t, "GET", "/proxies?workspaceId=team-1", nil).want(t, 200).equal(t, "data.0.id", proxyID)
	// 9. Check: no body; a dead proxy is a check that worked.
	a.do(t, "POST", "/proxies/"+proxyID+"/check", nil).want(t, 200).equal(t, "ok", false)
	// 10 and 5. Delete both.
	a.do(t, "DELETE", "/proxies/"+proxyID, nil).want(t, 204)
	a.do(t, "DELETE", "/profiles/"+id, nil).want(t, 204)
	a.do(t, "GET", "/profiles/"+id, nil).refused(t, 404, "profile_not_found")
}

var uuidV7 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// TestProfileDefaults: a profile of a name alone has every member of the contract's table, with its default.
func TestProfileDefaults(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	r := a.do(t, "POST", "/profiles", `{"name":"only"}`).want(t, 201)
	host := map[string]string{"windows": "win", "darwin": "mac"}[runtime.GOOS]
	if host == "" {
		host = "linux"
	}
	for member, want := range map[string]any{"workspaceId": "default", "name": "only", "os": host, "browserVersion": "156",
		"tags": []string{}, "notes": "", "proxyId": nil, "proxyMissing": false, "startUrls": []string{}, "timezone": "auto",
		"locale":      "auto",
		"geolocation": "auto", "webrtc": "proxy_only", "screen": nil, "headless": nil, "idleTimeoutMs": nil, "maxRunMs": nil,
		"backgroundTraffic": "refuse", "allowLocal": []string{}, "consistency": "warn", "passkeys": "off", "status": "stopped", "run": nil,
		"lastRun": nil, "lastStartedAt": nil, "diskBytes": 0} {
		if !r.has(member) {
			t.Errorf("%s is absent", member)
		}
		r.equal(t, member, want)
	}
	id := r.text("id")
	if !uuidV7.MatchString(id) {
		t.Errorf("id %q is no UUIDv7", id)
	}
	for _, member := range []string{"createdAt", "updatedAt"} {
		if !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`).MatchString(r.text(member)) {
			t.Errorf("%s is %q, want RFC 3339, UTC, milliseconds", member, r.text(member))
		}
	}
	if got, want := r.header.Get("Location"), "/api/v1/profiles/"+id; got != want {
		t.Errorf("Location is %q, want %q", got, want)
	}
	if r.header.Get("ETag") == "" {
		t.Error("no ETag")
	}
}

// TestProfileMembers: what is taken, and what it becomes. Each pair goes through create, and through update.
func TestProfileMembers(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	type position map[string]any
	for i, c := range []struct {
		member   string
		in, want any
	}{
		{"name", "  two  words ", "two  words"},
		{"name", "e\u0301", "\u00e9"}, // NFC
		{"name", strings.Repeat("ü", 200), strings.Repeat("ü", 200)},
		{"name", " " + strings.Repeat("x", 200) + " ", strings.Repeat("x", 200)},
		{"name", "../../etc/passwd", "../../etc/passwd"},
		{"name", "--renderer-cmd-prefix=/tmp/x", "--renderer-cmd-prefix=/tmp/x"},
		{"os", "windows", "win"}, {"os", "macos", "mac"}, {"os", "darwin", "mac"}, {"os", "lin", "linux"}, {"os", "mac", "mac"},
		{"os", "linux", "linux"},
		{"browserVersion", 124, "124"}, {"browserVersion", "1", "1"}, {"browserVersion", "999", "999"}, {"browserVersion", 1, "1"},
		{"browserVersion", 999, "999"},
		{"tags", []string{" a ", "A", "b", "a"}, []string{"a", "b"}},
		{"tags", []string{"Straße", "STRASSE", "ß"}, []string{"Straße", "ß"}}, // case-folded: ß is ss
		{"tags", []string{"e\u0301", "\u00c9"}, []string{"\u00e9"}},
		{"notes", "line\nline\ttab", "line\nline\ttab"}, {"notes", strings.Repeat("n", 10000), strings.Repeat("n", 10000)},
		{"notes", "", ""},
		{"startUrls", []string{"about:blank", "http://a.example", "https://b.example/p?q=1#f"},
			[]string{"about:blank", "http://a.example", "https://b.example/p?q=1#f"}},
		{"timezone", "Europe/Berlin", "Europe/Berlin"}, {"timezone", "system", "system"}, {"timezone", "UTC", "UTC"},
		{"locale", []string{"de-DE", "en"}, []string{"de-DE", "en"}}, {"locale", "system", "system"},
		{"geolocation", "off", "off"},
		{"geolocation", position{"latitude": 52.5, "longitude": 13.4}, position{"latitude": 52.5, "longitude": 13.4, "accuracy": 50}},
		{"geolocation", position{"latitude": -90, "longitude": 180, "accuracy": 0}, position{"latitude": -90, "longitude": 180,
			"accuracy": 0}},
		{"webrtc", "off", "off"}, {"webrtc", "default", "default"}, {"consistency", "off", "off"},
		{"consistency", "block", "block"}, {"consistency", nil, "warn"},
		{"screen", map[string]any{"width": 1920, "height": 1080}, map[string]any{"width": 1920, "height": 1080, "deviceScaleFactor": 1}},
		{"screen", map[string]any{"width": 320, "height": 4320, "deviceScaleFactor": 0.5},
			map[string]any{"width": 320, "height": 4320, "deviceScaleFactor": 0.5}},
		{"headless", true, true}, {"headless", false, false},
		{"idleTimeoutMs", 1000, 1000}, {"maxRunMs", 2592000000, 2592000000},
	} {
		in := map[string]any{"name": "m", c.member: c.in}
		r := a.do(t, "POST", "/profiles", in).want(t, 201)
		r.equal(t, c.member, c.want)
		id := a.profile(t)
		a.do(t, "PUT", "/profiles/"+id, map[string]any{c.member: c.in}).want(t, 200).equal(t, c.member, c.want)
		a.do(t, "GET", "/profiles/"+id, nil).want(t, 200).equal(t, c.member, c.want)
		if t.Failed() {
			t.Fatalf("case %d", i)
		}
	}
}

// TestNumbersHaveManyForms: 1e3 and 1000.0 are the integer 1000 (RFC 8259, 6; JSON Schema counts them as integers).
// None may be dropped in silence.
func TestNumbersHaveManyForms(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	r := a.do(t, "PUT", "/profiles/"+id, `{"idleTimeoutMs":1e3,"maxRunMs":5000.0,"browserVersion":124.0,
		"screen":{"width":1.92e3,"height":1080.0}}`).want(t, 200)
	r.equal(t, "idleTimeoutMs", 1000)
	r.equal(t, "maxRunMs", 5000)
	r.equal(t, "browserVersion", "124")
	r.equal(t, "screen.width", 1920)
	a.do(t, "POST", "/proxies", `{"type":"socks5","host":"h.example","port":1.08e3}`).want(t, 201).equal(t, "port", 1080)
}

// TestProfileMerge: an absent member stays, null sets the default, PATCH is PUT.
func TestProfileMerge(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	proxy := a.proxy(t)
	full := map[string]any{"name": "full", "os": "mac", "browserVersion": "120", "tags": []string{"x"}, "notes": "n", "proxyId": proxy,
		"startUrls": []string{"https://a.example/"}, "timezone": "Asia/Tokyo", "locale": []string{"ja"}, "geolocation": "off",
		"webrtc": "off",
		"screen": map[string]any{"width": 800, "height": 600, "deviceScaleFactor": 2}, "headless": true, "idleTimeoutMs": 5000,
		"maxRunMs": 6000}
	id := a.do(t, "POST", "/profiles", full).want(t, 201).text("id")
	before := a.do(t, "GET", "/profiles/"+id, nil).want(t, 200)
	for _, method := range []string{"PUT", "PATCH"} {
		r := a.do(t, method, "/profiles/"+id, `{}`).want(t, 200)
		for member, want := range full {
			r.equal(t, member, want)
		}
		r.equal(t, "createdAt", before.text("createdAt"))
	}
	defaults := a.do(t, "POST", "/profiles", `{"name":"plain"}`).want(t, 201)
	for member := range full {
		if member == "name" {
			continue
		}
		method := []string{"PUT", "PATCH"}[len(member)%2]
		r := a.do(t, method, "/profiles/"+id, map[string]any{member: nil}).want(t, 200)
		r.equal(t, member, defaults.at(member))
	}
	r := a.do(t, "POST", "/profiles", map[string]any{"name": "nulls", "os": nil, "tags": nil, "proxyId": nil, "screen": nil, "locale": nil,
		"geolocation": nil, "browserVersion": nil, "webrtc": nil, "timezone": nil, "notes": nil, "startUrls": nil,
		"headless": nil}).want(t, 201)
	r.equal(t, "tags", []string{})
	a.do(t, "PUT", "/profiles/"+id, `{"name":null}`).invalid(t, "body.name")
	a.do(t, "POST", "/profiles", `{"name":null}`).invalid(t, "body.name")
	a.do(t, "PUT", "/profiles/"+id, `{"workspaceId":null}`).invalid(t, "body.workspaceId")
	a.do(t, "PUT", "/profiles/"+id, `{"workspaceId":"default"}`).want(t, 200) // the same: nothing changes
	a.do(t, "PUT", "/profiles/"+id, `{"workspaceId":"other"}`).invalid(t, "body.workspaceId")
}

// TestRefusedMembers: what only the server sets, what is out of bounds, and every fault at once.
func TestRefusedMembers(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	for _, member := range []string{"id", "createdAt", "updatedAt", "status", "run", "lastRun", "diskBytes", "proxyMissing",
		"lastStartedAt", "trashedAt"} {
		body := fmt.Sprintf(`{"name":"x",%q:null}`, member)
		a.do(t, "POST", "/profiles", body).invalid(t, "body."+member)
		a.do(t, "PUT", "/profiles/"+id, body).invalid(t, "body."+member)
	}
	many := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("t%d", i))
		}
		return out
	}
	urls := slices.Repeat([]string{"https://a.example"}, 21)
	for _, c := range []struct {
		member string
		value  any
		at     string
	}{
		{"name", "", ""}, {"name", " \t ", ""}, {"name", strings.Repeat("x", 201), ""}, {"name", "a\x00b", ""},
		{"name", "a\nb", ""}, {"name", "\u0085x\u0085y", ""},
		{"os", "", ""}, {"os", "amiga", ""}, {"os", "WIN\x00", ""},
		{"browserVersion", "", ""}, {"browserVersion", "0", ""}, {"browserVersion", "1000", ""}, {"browserVersion", "12a", ""},
		{"browserVersion", 0, ""},
		{"browserVersion", 1000, ""}, {"browserVersion", 12.5, ""}, {"browserVersion", "-1", ""}, {"browserVersion", "١٢", ""},
		{"browserVersion", "012", ""},
		{"tags", many(51), ""}, {"tags", []string{"ok", ""}, "[1]"}, {"tags", []string{strings.Repeat("t", 65)}, "[0]"},
		{"tags", []string{"a\x07"}, "[0]"},
		{"notes", strings.Repeat("n", 10001), ""}, {"notes", "\x1b[31m", ""},
		{"startUrls", urls, ""}, {"startUrls", []string{"ftp://a"}, "[0]"},
		{"startUrls", []string{"https://ok.example", "javascript:alert(1)"}, "[1]"},
		{"startUrls", []string{"file:///etc/passwd"}, "[0]"}, {"startUrls", []string{"about:config"}, "[0]"},
		{"startUrls", []string{"--no-sandbox"}, "[0]"},
		{"timezone", "Mars/Olympus", ""}, {"timezone", "../../etc/passwd", ""}, {"timezone", "Local", ""}, {"timezone", "", ""},
		{"timezone", "posixrules", ""}, {"timezone", "right/Europe/Berlin", ""}, {"timezone", "posix/Europe/Berlin", ""},
		{"timezone", "Factory", ""},
		{"locale", []string{"de_DE"}, ""}, {"locale", []string{"root"}, ""},
		{"locale", []string{}, ""}, {"locale", "de", ""}, {"locale", []string{"not a tag"}, ""}, {"locale", []string{"--lang=x"}, ""},
		{"geolocation", "on", ""}, {"geolocation", map[string]any{"latitude": 91, "longitude": 0}, ""},
		{"geolocation", map[string]any{"latitude": 1}, ""},
		{"webrtc", "everything", ""}, {"webrtc", "", ""},
		{"screen", map[string]any{"width": 100, "height": 1080}, ".width"}, {"screen", map[string]any{"width": 1920}, ".height"},
		{"idleTimeoutMs", 999, ""}, {"maxRunMs", 2592000001, ""}, {"idleTimeoutMs", -1, ""},
		{"proxyId", "no-such-proxy", ""}, {"workspaceId", "", ""}, {"workspaceId", "a/b", ""}, {"workspaceId", strings.Repeat("w", 65), ""},
	} {
		body := map[string]any{"name": "x", c.member: c.value}
		a.do(t, "POST", "/profiles", body).invalid(t, "body."+c.member+c.at)
		a.do(t, "PUT", "/profiles/"+id, body).invalid(t, "body."+c.member+c.at)
	}
	a.do(t, "POST", "/profiles?nope=1&x=2", `{"name":"","os":"amiga","tags":["",5],"webrtc":1,"nope":1,"Name":"x","notes":null,
		"screen":{"width":1,"height":1,"z":0}}`).
		invalid(t, "body.name", "body.os", "body.tags[1]", "body.webrtc", "body.nope", "body.Name", "body.screen.width",
			"body.screen.height", "body.screen.z", "query.nope", "query.x")
	a.do(t, "GET", "/profiles", nil).want(t, 200).equal(t, "total", 1)
}

// TestETag: If-Match lets a change through only while the object is as it was read.
func TestETag(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, path := range []string{"/profiles/" + a.profile(t), "/proxies/" + a.proxy(t)} {
		tag := a.do(t, "GET", path, nil).want(t, 200).header.Get("ETag")
		send := func(method, match string) *answer {
			var body any
			if method != "DELETE" {
				body = `{"notes":"` + match[:1] + `n"}`
				body = `{"notes":"changed"}`
			}
			req := a.request(t, method, path, body)
			req.Header.Set("If-Match", match)
			return a.send(t, req)
		}
		next := send("PUT", tag).want(t, 200).header.Get("ETag")
		if next == tag || next == "" {
			t.Errorf("%s: ETag %s after %s", path, next, tag)
		}
		for _, stale := range []string{tag, `"x"`, "W/" + next, strings.Trim(next, `"`), `"` + strings.Repeat("9", 30) + `"`} {
			send("PUT", stale).refused(t, 412, "etag_mismatch")
			send("PATCH", stale).refused(t, 412, "etag_mismatch")
			send("DELETE", stale).refused(t, 412, "etag_mismatch")
		}
		a.do(t, "GET", path, nil).want(t, 200).equal(t, "notes", "changed")
		next = send("PATCH", `"x", `+next).want(t, 200).header.Get("ETag")
		send("PUT", "*").want(t, 200)
		send("DELETE", "*").want(t, 204)
		_ = next
	}
}

// TestNoProxyBesideWebRTC: two changes that were both good when they were looked at do not both come through.
func TestNoProxyBesideWebRTC(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t, "proxyId", a.proxy(t)) // set while the other change was on its way
	in := &profileUpdate{ProfilePath: ProfilePath{id}}
	in.Body.WebRTC = opt[string]{Set: true, Value: "default"}
	var p *problem.Error
	if _, err := a.srv.updateProfile(adminContext(a), in); !errors.As(err, &p) || p.Kind != problem.Invalid || len(p.Faults) != 1 ||
		p.Faults[0].Location != "body.webrtc" {
		t.Errorf("got %v, want a fault at body.webrtc", err)
	}
	a.do(t, "GET", "/profiles/"+id, nil).want(t, 200).equal(t, "webrtc", "proxy_only")
}

// TestTrash: a deleted profile is gone for every operation but those of the trash, and comes back whole.
func TestTrash(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t, "name", "kept", "tags", []string{"a"}, "notes", "n")
	folder := filepath.Join(a.dir, "profiles", id)
	if err := os.MkdirAll(filepath.Join(folder, "chrome"), 0o700); err != nil {
		t.Fatal(err)
	}
	before := a.do(t, "GET", "/profiles/"+id, nil).want(t, 200)
	a.do(t, "DELETE", "/profiles/"+id, nil).want(t, 204)
	gone := []struct{ method, path, body string }{{"GET", "", ""}, {"PUT", "", `{"name":"x"}`}, {"PATCH", "", `{}`}, {"DELETE", "", ""},
		{"POST", "/start", ""}, {"POST", "/start", `{"dryRun":true}`}, {"POST", "/stop", ""}, {"POST", "/leak-test", ""},
		{"GET", "/explain", ""}, {"GET", "/screenshot", ""}, {"GET", "/pdf", ""}, {"GET", "/cdp", ""}, {"GET", "/cdp/json/version", ""}}
	for _, g := range gone {
		var body any
		if g.body != "" {
			body = g.body
		}
		a.do(t, g.method, "/profiles/"+id+g.path, body).refused(t, 404, "profile_not_found")
	}
	a.do(t, "GET", "/profiles", nil).want(t, 200).equal(t, "total", 0)
	trash := a.do(t, "GET", "/profiles?trashed=true", nil).want(t, 200)
	trash.equal(t, "total", 1)
	trash.equal(t, "data.0.id", id)
	if a.do(t, "GET", "/profiles/"+id+"?trashed=true", nil).want(t, 200).text("trashedAt") == "" {
		t.Error("no trashedAt in the trash")
	}
	back := a.do(t, "POST", "/profiles/"+id+"/restore", nil).want(t, 200)
	if string(back.body) != string(before.body) || back.has("trashedAt") {
		t.Errorf("restored\n%s\nwant\n%s", back.body, before.body)
	}
	a.do(t, "POST", "/profiles/"+id+"/restore", nil).refused(t, 404, "profile_not_found") // it is in the trash no more
	a.do(t, "GET", "/profiles/"+id+"?trashed=true", nil).refused(t, 404, "profile_not_found")
	if _, err := os.Stat(folder); err != nil {
		t.Errorf("the folder did not stay: %v", err)
	}
	a.do(t, "DELETE", "/profiles/"+id, nil).want(t, 204)
	a.do(t, "DELETE", "/profiles/"+id+"?permanent=true", nil).want(t, 204)
	a.do(t, "POST", "/profiles/"+id+"/restore", nil).refused(t, 404, "profile_not_found")
	a.do(t, "DELETE", "/profiles/"+id+"?permanent=true", nil).refused(t, 404, "profile_not_found")
	a.do(t, "GET", "/profiles?trashed=true", nil).want(t, 200).equal(t, "total", 0)
	if entries, err := os.ReadDir(filepath.Dir(folder)); err != nil || len(entries) > 0 {
		t.Errorf("left over: %v %v", entries, err)
	}
	other := a.profile(t)
	a.do(t, "DELETE", "/profiles/"+other+"?permanent=true", nil).want(t, 204) // not only out of the trash
	a.do(t, "GET", "/profiles/"+other+"?trashed=true", nil).refused(t, 404, "profile_not_found")
}

// TestNothingRuns: what stop and the list of runs say where no browser is.
func TestNothingRuns(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	for _, body := range []any{nil, `{}`, `{"force":true}`, `{"force":null}`} {
		r := a.do(t, "POST", "/profiles/"+id+"/stop", body).want(t, 200)
		for member, want := range map[string]any{"id": id, "stopped": false, "status": "stopped", "lastRun": nil} {
			r.equal(t, member, want)
		}
	}
	r := a.do(t, "GET", "/runs", nil).want(t, 200)
	r.equal(t, "data", []any{})
	r.equal(t, "total", 0)
	r.equal(t, "hasMore", false)
}

// TestAnswersAreJSON: whatever a client says that it likes, it gets JSON under its one name; HEAD gets the same without a body.
func TestAnswersAreJSON(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	for _, accept := range []string{"", "*/*", "application/json", "json", "text/html,application/xhtml+xml,*/*;q=0.8",
		"application/xml", "application/cbor", "application/json;q=0", "text/plain", "\"", ",,;;="} {
		for _, path := range []string{"/profiles/" + id, "/profiles", "/profiles/none", "/profiles?page=0", "//nope", "//openapi.json"} {
			req := a.request(t, "GET", path, nil)
			req.Header.Set("Accept", accept)
			r := a.send(t, req)
			if want := map[bool]string{true: "application/json",
				false: "application/problem+json"}[r.status < 400]; r.header.Get("Content-Type") != want {
				t.Errorf("Accept %q: %s has Content-Type %q, want %q", accept, r, r.header.Get("Content-Type"), want)
			}
			if head := a.do(t, "HEAD", path, nil); head.status != r.status || len(head.body) != 0 ||
				head.header.Get("Content-Type") != r.header.Get("Content-Type") {
				t.Errorf("HEAD %s: %d %v", path, head.status, head.header)
			}
		}
	}
	if r := a.do(t, "DELETE", "/profiles/"+id, nil).want(t, 204); len(r.body) != 0 || r.header.Get("Content-Type") != "" {
		t.Errorf("204 with %q %v", r.body, r.header)
	}
}

// TestClockThatIsSet: after the clock was set by more than a day nothing is deleted for good for a day; a night's sleep is no such step.
func TestClockThatIsSet(t *testing.T) {
	t.Parallel()
	var c runs.ClockWatch
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, x := range []struct {
		later time.Duration
		want  bool
	}{{0, true}, {time.Minute, true}, {12 * time.Hour, true}, {90 * 24 * time.Hour, false}, {time.Minute, false},
		{23 * time.Hour, false}, {time.Hour, true},
		{-30 * 24 * time.Hour, false}, {time.Minute, false}, {20 * time.Hour, false}, {5 * time.Hour, true}} {
		at = at.Add(x.later)
		if got := c.Trusted(at); got != x.want {
			t.Errorf("look %d, at %v: steady %v", i, at, got)
		}
	}
}
