package api

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

// Tests changes of a proxy: where its password may be sent.

// TestAPasswordGoesToNoOtherServer: a key that may not read a proxy's password cannot send it elsewhere by a change.
func TestAPasswordGoesToNoOtherServer(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	blind, _ := a.newKey(t, "read,run,write")
	keeper, _ := a.newKey(t, "write,secrets")
	var n atomic.Int64 // each in a workspace of its own: two of them may become the same
	fresh := func(extra ...any) string {
		return a.proxy(t, append([]any{"workspaceId", fmt.Sprint("w", n.Add(1)), "username", "u", "password", "p"}, extra...)...)
	}
	for _, body := range []string{`{"host":"evil.example"}`, `{"port":1081}`, `{"type":"http"}`,
		`{"type":"https","host":"evil.example","port":1}`,
		`{"host":"evil.example","username":"v"}`, `{"host":"evil.example","name":"n"}`} {
		id := fresh()
		for _, method := range []string{"PUT", "PATCH"} {
			r := a.as(blind).do(t, method, "/proxies/"+id, body).invalid(t, "body.password")
			if !strings.Contains(string(r.body), "Type the password again") {
				t.Errorf("%s does not say what to do: %s", body, r)
			}
		}
		a.do(t, "GET", "/proxies/"+id, nil).want(t, 200).equal(t, "updatedAt", a.do(t, "GET", "/proxies/"+id, nil).at("createdAt"))
		a.as(blind).do(t, "PUT", "/proxies/"+id, strings.Replace(body, "{", `{"password":"again",`, 1)).want(t, 200).equal(t,
			"hasPassword", true)
		a.as(blind).do(t, "PUT", "/proxies/"+fresh(), strings.Replace(body, "{", `{"password":null,`, 1)).want(t, 200).equal(t,
			"hasPassword", false)
		a.as(keeper).do(t, "PUT", "/proxies/"+fresh(), body).want(t, 200).equal(t, "hasPassword", true)
		a.do(t, "PUT", "/proxies/"+fresh(), body).want(t, 200).equal(t, "hasPassword", true)
	}
	id := fresh("host", "here.example")
	// the same server
	for _, body := range []string{`{}`, `{"name":"n"}`, `{"username":"v"}`, `{"host":"HERE.example."}`, `{"type":"socks5h"}`,
		`{"port":1080}`} {
		a.as(blind).do(t, "PUT", "/proxies/"+id, body).want(t, 200).equal(t, "hasPassword", true)
	}
	a.as(blind).do(t, "PUT", "/proxies/"+id, `{"url":"socks5://v@there.example:1"}`).want(t, 200).equal(t, "hasPassword", false)
	a.as(blind).do(t, "PUT", "/proxies/"+id, `{"host":"elsewhere.example"}`).want(t, 200) // no password is at stake
}

// TestSOCKS4HasNoPassword: SOCKS4 cannot send a password, so every way to one is refused.
func TestSOCKS4HasNoPassword(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, path := range []string{"/proxies", "/proxies/check"} {
		r := a.do(t, "POST", path, `{"type":"socks4","host":"h","port":1,"username":"u","password":"p"}`).invalid(t, "body.password")
		if !strings.Contains(string(r.body), "SOCKS4 takes no password") {
			t.Errorf("%s does not say why", r)
		}
		a.do(t, "POST", path, `{"url":"socks4://u:p@h:1"}`).invalid(t, "body.url")
	}
	id := a.proxy(t, "username", "u", "password", "p")
	a.do(t, "PUT", "/proxies/"+id, `{"type":"socks4"}`).invalid(t, "body.password")
	a.do(t, "PUT", "/proxies/"+id, `{"type":"socks4","password":null}`).want(t, 200).equal(t, "username", "u")
	a.do(t, "PUT", "/proxies/"+id, `{"password":"p"}`).invalid(t, "body.password")
}
