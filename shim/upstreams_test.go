package shim

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"warren/proxy"
)

// takes sends a change of proxies as the server does, and returns the process's list after it.
func takes(t *testing.T, u Upstreams) []Upstream {
	t.Helper()
	body, err := json.Marshal(u)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{relay: proxy.NewRelay(&proxy.Dialer{}, nil)}
	defer p.relay.Close()
	w := httptest.NewRecorder()
	p.serveUpstreams(w, httptest.NewRequest(http.MethodPut, "/upstreams", bytes.NewReader(body)))
	if w.Code != http.StatusOK {
		t.Fatalf("a change of %d bytes is answered %d: %s", len(body), w.Code, w.Body)
	}
	return p.upstreams
}

// TestLoginsOfAnyBytes: a user name and a password that are not UTF-8 reach the run's process unchanged, at its start
// and at a change. A sender that writes text only is understood.
func TestLoginsOfAnyBytes(t *testing.T) {
	odd := Upstream{ID: "a", Revision: 3, Type: proxy.SOCKS5, Host: "h.test", Port: 1, Username: "\xfc", Password: "\xff\xfe"}
	plain := Upstream{ID: "b", Type: proxy.HTTP, Host: "h.test", Port: 2, Username: "user", Password: "Gr\u00fc\u00df"}
	list := []Upstream{odd, plain}
	if got := takes(t, Upstreams{List: list}); !slices.Equal(got, list) {
		t.Errorf("a change reaches the process as %+v, want %+v", got, list)
	}
	if other := (Upstream{Password: "\xff"}); other.same(Upstream{Password: "\xfe"}) {
		t.Error("two passwords that are no text count as the same")
	}
	body, err := json.Marshal(Spec{Upstream: &odd, Fallbacks: list})
	if err != nil {
		t.Fatal(err)
	}
	var got Spec
	if err := json.Unmarshal(body, &got); err != nil || *got.Upstream != odd || !slices.Equal(got.Fallbacks, list) {
		t.Errorf("%v: a start reaches the process as %+v and %+v", err, *got.Upstream, got.Fallbacks)
	}
	const before = `{"id":"b","revision":0,"type":"http","host":"h.test","port":2,"username":"user","password":"Grüß"}`
	var u Upstream
	if written, err := json.Marshal(plain); err != nil || string(written) != before {
		t.Errorf("text is written as %s, %v", written, err)
	}
	if err := json.Unmarshal([]byte(before), &u); err != nil || u != plain {
		t.Errorf("text is read as %+v, %v", u, err)
	}
}

// TestLongestLogins: a change may hold as many proxies as a run has, each with the longest login, in the bytes that
// take the most room.
func TestLongestLogins(t *testing.T) {
	for _, one := range []string{"\x01", "\xff"} {
		u := Upstream{Type: proxy.HTTP, Host: strings.Repeat("h", 255), Port: 65535, Username: strings.Repeat(one, 4096),
			Password: strings.Repeat(one, 4096)}
		list := slices.Repeat([]Upstream{u}, 11)
		if got := takes(t, Upstreams{List: list}); !slices.Equal(got, list) {
			t.Errorf("%d proxies with logins of %q reach the process changed", len(list), one)
		}
	}
}
