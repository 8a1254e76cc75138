package web

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// loginSite is a server with the page, which exchanges codes and keys for session keys.
type loginSite struct {
	site *Site

	mu      sync.Mutex
	opens   map[string]bool // codes and keys that can be exchanged
	keys    map[string]bool // session keys
	made    int
	revoked []string
}

func (s *loginSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h, ok := s.site.Lookup(r.URL.Path); ok {
		h.ServeHTTP(w, r)
		return
	}
	status, answer := s.answer(r)
	if r.URL.Path == "/api/v1/events" && status == http.StatusOK {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ": hello\n\n")
		http.NewResponseController(w).Flush() //nolint:errcheck // the client may be gone
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(answer) //nolint:errcheck // the client may be gone
}

func (s *loginSite) answer(r *http.Request) (int, any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, hasKey := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case r.URL.Path == "/version":
		return 200, map[string]any{"version": "1"}
	case r.URL.Path == "/openapi.json" && !hasKey:
		return 200, map[string]any{"openapi": "3.1.0", "info": map[string]any{"title": "Open", "version": "1"}, "paths": map[string]any{}}
	case r.URL.Path == "/api/v1/session-keys":
		var in struct{ Code string }
		body, _ := io.ReadAll(r.Body)
		if json.Unmarshal(body, &in) == nil && in.Code != "" {
			key = in.Code
		}
		if !s.opens[key] {
			return map[bool]int{true: 401, false: 410}[hasKey], map[string]any{"code": map[bool]string{true: "unauthorized",
				false: "login_link_gone"}[hasKey]}
		}
		s.opens[key] = hasKey // a code works once
		s.made++
		made := fmt.Sprint("session-", s.made)
		s.keys[made] = true
		return 201, map[string]any{"key": made}
	case !s.keys[key]:
		return 401, map[string]any{"code": "unauthorized"}
	case r.URL.Path == "/api/v1/session-keys/current":
		delete(s.keys, key)
		s.revoked = append(s.revoked, key)
		return 200, nil
	}
	return 200, map[string]any{"data": []any{}, "total": 0}
}

// isAt is true in a page that is logged in and shows a heading.
func isAt(heading string) string {
	return fmt.Sprintf("document.querySelector('main h1')?.textContent.includes(%q)", heading)
}

// kept is what both storages of the page hold.
const kept = "JSON.stringify({ ...localStorage, cookie: document.cookie, tab: { ...sessionStorage } })"

// logsIn: a link logs in once, and a key as often as one likes. New tabs and reloads stay logged in, and log out ends all tabs. The page
// keeps the session key alone, without cookies, and no other port sees it.
func logsIn(t *testing.T, d *driven) {
	const own = "wrn_of-the-person"
	s := &loginSite{site: newSite(t), opens: map[string]bool{"the-code": true, own: true}, keys: map[string]bool{}}
	server, other := httptest.NewServer(s), httptest.NewServer(s)
	for _, one := range []*httptest.Server{server, other} {
		defer one.Close()
		defer one.CloseClientConnections()
	}
	at := func(address string) *driveTab { return d.open(t, address, 1280, 800, 1, "") }
	want := func(p *driveTab, expression, want string) {
		t.Helper()
		var got string
		if p.eval(expression, &got); got != want {
			t.Errorf("%s is %s, want %s", expression, got, want)
		}
	}
	first := at(server.URL + "/#code=the-code")
	first.until(isAt("Profiles"))
	want(first, "location.hash", "")
	want(first, kept, `{"warren.key":"session-1","cookie":"","tab":{}}`)
	second := at(server.URL + "/#/proxies")
	second.until(isAt("Proxies"))
	first.eval("window.before = true, void setTimeout(() => location.reload())", nil)
	first.until("!window.before && " + isAt("Profiles"))
	stranger := at(other.URL)
	stranger.until("document.querySelector('.login-card input')")
	want(stranger, kept, `{"cookie":"","tab":{}}`)
	stranger.close()

	first.click("Log out")
	first.until("document.querySelector('.login-card input')")
	second.until("document.querySelector('.login-card .fault')?.textContent.includes('another tab')")
	want(first, kept, `{"cookie":"","tab":{}}`)
	waitFor(t, "the log out at the server", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return fmt.Sprint(s.revoked) == "[session-1]"
	})
	first.eval("location.hash = '#code=the-code'", nil)
	first.until("document.querySelector('.login-card .fault')?.textContent.includes('was used before')")

	first.eval(`(() => {
		const field = document.querySelector('#key');
		field.value = '`+own+`';
		field.dispatchEvent(new Event('input', { bubbles: true }));
		document.querySelector('.login-card input[type=checkbox]').click();
	})()`, nil)
	first.click("Log in")
	first.until(isAt("Profiles"))
	want(first, kept, `{"cookie":"","tab":{"warren.key":"session-2"}}`)
	want(second, kept, `{"cookie":"","tab":{}}`)
	second.eval("location.hash = '#key="+own+"'", nil) // the old form of links
	second.until(isAt("Profiles"))
	want(second, kept, `{"warren.key":"session-3","cookie":"","tab":{}}`)
	second.eval("location.hash = '#key="+own+"'", nil) // a new login ends the one before
	second.until("localStorage.getItem('warren.key') === 'session-4' && " + isAt("Profiles"))
	waitFor(t, "the end of the session before", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return !s.keys["session-3"] && s.keys["session-2"]
	})
	s.mu.Lock()
	delete(s.keys, "session-4") // revoked elsewhere
	s.mu.Unlock()
	second.eval("location.hash = '#/trash'", nil)
	second.until("document.querySelector('.login-card .fault')?.textContent.includes('no longer valid')")
	docs := at(server.URL + "/docs")
	docs.until(isAt("Open API"))
	for _, p := range []*driveTab{first, second, docs} {
		p.wantQuiet()
		p.close()
	}
}
