package api

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"warren/testnet"
)

// canary is a password that must never appear. A part of it is enough to be found.
const canary = "Canary7f3a9c41d0-do-not-repeat"

// canaryForms are the encodings in which a secret could be written.
func canaryForms(secret string) [][]byte {
	forms := []string{secret, secret[3:], url.QueryEscape(secret), hex.EncodeToString([]byte(secret)), fmt.Sprintf("%v", []byte(secret))}
	for i := range 3 { // base64 at each offset
		text := base64.StdEncoding.EncodeToString([]byte("xx"[:i] + secret))
		forms = append(forms, text[4:len(text)-4], base64.RawURLEncoding.EncodeToString([]byte("xx" + secret))[4:30])
	}
	var out [][]byte
	for _, f := range forms {
		out = append(out, []byte(f))
	}
	return out
}

func hasCanary(b []byte) bool {
	for _, f := range canaryForms(canary) {
		if bytes.Contains(b, f) {
			return true
		}
	}
	return false
}

// TestSecretsStayIn: proxies with a canary as password are created, changed, listed, checked, used and deleted. No answer, log line,
// event or file of the data folder has it.
func TestSecretsStayIn(t *testing.T) {
	t.Parallel()
	needIsolation(t)
	a, rig := newAPI(t), newCheckRig(t)
	stream := a.listen(t, a.key)
	byFields := a.proxy(t, "host", "127.0.0.1", "port", closedPort(t), "username", "u1", "password", canary)
	byURL := a.do(t, "POST", "/proxies", map[string]any{"url": "http://u2:" + url.QueryEscape(canary) + "@127.0.0.1:" +
		fmt.Sprint(closedPort(t))}).want(t, 201).text("id")
	refused := a.do(t, "POST", "/proxies", rig.fields(canary)).want(t, 201).text("id") // a real proxy that refuses this password
	changed := a.proxy(t, "username", "u3", "password", "old-"+canary)
	a.do(t, "PUT", "/proxies/"+changed, map[string]any{"password": canary}).want(t, 200)
	a.do(t, "PATCH", "/proxies/"+changed, map[string]any{"url": "socks5://u4:" + canary + "@127.0.0.1:1"}).want(t, 200)
	for _, id := range []string{byFields, byURL, refused, changed} {
		profile := a.profile(t, "proxyId", id)
		a.do(t, "POST", "/proxies/"+id+"/check", nil).want(t, 200).equal(t, "ok", false)
		a.do(t, "POST", "/profiles/"+profile+"/start", `{"dryRun":true}`).want(t, 200)
		a.do(t, "GET", "/profiles/"+profile, nil).want(t, 200)
		a.do(t, "GET", "/proxies/"+id, nil).want(t, 200).equal(t, "hasPassword", true)
		a.do(t, "DELETE", "/proxies/"+id, nil).refused(t, 409, "proxy_in_use")
		a.do(t, "DELETE", "/profiles/"+profile, nil).want(t, 204)
	}
	a.do(t, "POST", "/proxies/check", rig.fields(canary)).want(t, 200).equal(t, "error.code", "auth_failed")
	req := a.request(t, "POST", "/proxies", map[string]any{"type": "http", "host": "idem.example", "port": 1, "username": "u",
		"password": canary})
	req.Header.Set("Idempotency-Key", "with-a-secret")
	a.send(t, req).want(t, 201)
	a.do(t, "POST", "/proxies", map[string]any{"type": "socks5", "host": "127.0.0.1", "port": 1, "username": "u4",
		"password": canary}).refused(t, 409, "duplicate")
	a.do(t, "GET", "/proxies", nil).want(t, 200)
	a.do(t, "DELETE", "/proxies/"+byURL, nil).want(t, 204)
	stream.until(t, "proxy.deleted")
	live := 0
	eachFile(t, a.dir, func(path string, b []byte) { // while it runs: the write-ahead log too
		if hasCanary(b) {
			t.Errorf("%s holds the password", path)
		}
		live += len(b)
	})
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	files := 0
	eachFile(t, a.dir, func(path string, b []byte) {
		files++
		if hasCanary(b) {
			t.Errorf("%s holds the password", path)
		}
	})
	for what, text := range map[string]string{"an answer": a.answers.String(), "the log": a.log.String(), "an event": stream.all()} {
		if hasCanary([]byte(text)) {
			t.Errorf("%s holds the password:\n%.5000s", what, text)
		}
	}
	if files < 2 || live < 100000 && !testnet.OnPostgres() || live < 50000 || !strings.Contains(a.answers.String(), `"hasPassword":true`) {
		t.Errorf("the search is blind: %d files, %d bytes", files, live)
	}
}

// canaryPlaces are the JSON shapes in which a secret can be sent.
func canaryPlaces() []any {
	return []any{canary, " " + canary, canary + "\x00", "socks5://user:" + canary + "@proxy.example:1080", "https://u:" + canary +
		"@h.example/", "ftp://u:" + canary + "@h/",
		"user:" + canary + "@proxy.example:1080", "proxy.example:1080:user:" + canary, canary + "@", strings.Repeat(canary, 20),
		strings.Repeat(canary+"\n", 500), []any{canary}, []any{canary + "\x00"},
		map[string]any{"password": canary}, map[string]any{"x": []any{canary}}, map[string]any{"latitude": canary, "longitude": canary},
		[]any{[]any{canary}}}
}

// TestCanaryInEveryPosition: refusals and the log do not repeat a secret in a wrong member, a wrong shape or a broken body. Members
// that accept it (a name, notes) refuse nothing.
func TestCanaryInEveryPosition(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	profile, proxy := a.profile(t), a.proxy(t)
	n := 0
	try := func(method, path, contentType string, body []byte) {
		t.Helper()
		n++
		req := a.request(t, method, path, body)
		req.Header.Set("Content-Type", contentType)
		r := a.send(t, req)
		if r.status >= 400 && hasCanary(r.body) || hasCanary([]byte(fmt.Sprint(r.header))) {
			t.Errorf("%s repeats the secret of %.300s", r, body)
		}
		if r.status == 500 {
			t.Errorf("%s", r)
		}
	}
	for _, b := range bodiedOperations(profile, proxy) {
		if strings.HasSuffix(b.path, "/check") {
			b.base = map[string]any{"type": "socks5", "host": "127.0.0.1", "port": 1, "username": "u"} // where a good one is dialled
		}
		for _, m := range append(b.members, member{name: "nope"}, member{name: "Password"}, member{name: "pass"}) {
			if strings.HasSuffix(b.path, "/check") && m.name == "host" {
				continue // its host name is looked up, which takes time
			}
			b := b
			b.base = maps.Clone(b.base)
			for _, v := range sampled(canaryPlaces()) {
				text, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				delete(b.base, m.name) // it is put in anew
				try(b.method, b.path, "application/json", b.with(m.name, string(text)))
			}
		}
		for _, broken := range []string{`{"password":"` + canary, `{"password":"` + canary + `"`, canary, `"` + canary + `"`, `["` +
			canary + `"]`, `{"password":"` + canary + `","password":"` + canary + `"}`,
			`{"password":"` + canary + "\xff\"}", `{"password":` + canary + `}`, `{"url":"socks5://u:` + canary + `@h:1" "x":1}`,
			"{\"password\":\"" + canary + "\n\"}", `{"password":"` + canary + `\q"}`} {
			try(b.method, b.path, "application/json", []byte(broken))
			try(b.method, b.path, "text/plain", []byte(broken))
			try(b.method, b.path, "multipart/form-data; boundary="+canary[:10], []byte(broken))
		}
	}
	for _, query := range []string{"page=", "limit=", "status=", "os=", "sort=", "order=", "trashed=", "search=x&page=", "after=x&page="} {
		r := a.do(t, "GET", "/profiles?"+query+canary, nil).want(t, 422)
		if hasCanary(r.body) {
			t.Errorf("%s repeats the secret", r)
		}
		n++
	}
	for _, path := range []string{"/profiles/" + canary, "/proxies/" + canary, "/keys/" + canary, "//" + canary, "//cdp/" + canary,
		"/profiles/" + canary + "/cdp"} {
		for _, method := range []string{"GET", "DELETE", "POST"} {
			if r := a.do(t, method, path, nil); hasCanary(r.body) {
				t.Errorf("%s repeats the secret", r)
			}
			n++
		}
	}
	for _, header := range []string{"Authorization", "If-Match", "Idempotency-Key", "X-Request-Id", "Origin", "Accept", "Cookie",
		"X-Forwarded-For"} {
		req := a.request(t, "POST", "/profiles", `{"name":""}`)
		req.Header.Set(header, strings.Repeat(canary+" ", 10))
		if r := a.send(t, req); hasCanary(r.body) || hasCanary([]byte(fmt.Sprint(r.header))) {
			t.Errorf("%s %v repeats the secret of %s", r, r.header, header)
		}
		n++
	}
	if hasCanary([]byte(a.log.String())) {
		t.Errorf("the log holds the secret:\n%.3000s", a.log)
	}
	t.Logf("%d requests", n)
}

// TestSealedForItsRow: a sealed password opens only in its own row.
func TestSealedForItsRow(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	one, two := a.proxy(t, "username", "a", "password", "p-one"), a.proxy(t, "username", "b", "password", "p-two")
	row := func(id string) []byte {
		r, err := a.srv.proxyRow(adminContext(a), id)
		if err != nil {
			t.Fatal(err)
		}
		return r.Password
	}
	if plain, err := a.srv.store.Unseal("proxies", "password", one, row(one)); err != nil || string(plain) != "p-one" {
		t.Errorf("its own row: %q %v", plain, err)
	}
	if plain, err := a.srv.store.Unseal("proxies", "password", two, row(one)); err == nil {
		t.Errorf("another row opens it: %q", plain)
	}
}

// TestFilesAreOurs: files belong to their owner alone: folders 0700, files 0600.
func TestFilesAreOurs(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has access lists instead of modes")
	}
	cfg := testSetup(t)
	cfg.APIKey = ""
	a := serveAPI(t, cfg)
	a.proxy(t, "username", "u", "password", "p")
	n := 0
	err := filepath.WalkDir(a.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		n++
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v", p, info.Mode())
		}
		return err
	})
	least := 6
	if testnet.OnPostgres() { // the database is elsewhere
		least = 5
	}
	if err != nil || n < least {
		t.Errorf("%d files, %v", n, err)
	}
}
