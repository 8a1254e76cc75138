package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// allowLocal names the services of this machine exactly, in one spelling, and never this server itself. A server that closes
// private networks takes no name at all.
func TestAllowLocalMember(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	_, port, _ := strings.Cut(a.hostPort(), ":")
	id := a.do(t, "POST", "/profiles", `{"name":"p",
		"allowLocal":["LocalHost:3000","127.1:80","localhost.:3000","[::ffff:10.0.0.1]:8080"]}`).
		want(t, 201).text("id")
	a.do(t, "GET", "/profiles/"+id, nil).equal(t, "allowLocal", []string{"localhost:3000", "127.0.0.1:80", "10.0.0.1:8080"})
	r := a.do(t, "PUT", "/profiles/"+id, `{"backgroundTraffic":"allow"}`).want(t, 200)
	r.equal(t, "backgroundTraffic", "allow")
	r.equal(t, "allowLocal", []string{"localhost:3000", "127.0.0.1:80", "10.0.0.1:8080"})
	r = a.do(t, "PUT", "/profiles/"+id, `{"allowLocal":null,"backgroundTraffic":null}`).want(t, 200)
	r.equal(t, "backgroundTraffic", "refuse")
	r.equal(t, "allowLocal", []string{})
	a.do(t, "PUT", "/profiles/"+id, `{"allowLocal":["localhost:3000","nas.local:80","169.254.169.254:80","localhost"],
		"backgroundTraffic":"maybe"}`).
		invalid(t, "body.allowLocal[1]", "body.allowLocal[2]", "body.allowLocal[3]", "body.backgroundTraffic")
	a.do(t, "PUT", "/profiles/"+id, strings.ReplaceAll(`{"allowLocal":[
		"localhost:7777","127.9.9.9:7777","[::1]:7777","10.9.8.7:7777"]}`, "7777", port)).
		invalid(t, "body.allowLocal[0]", "body.allowLocal[1]", "body.allowLocal[2]")
	a.do(t, "PUT", "/profiles/"+id, `{"allowLocal":["nas.local:80","localhost:3000","localhost:`+port+`"]}`).invalid(t,
		"body.allowLocal[0]", "body.allowLocal[2]")
	a.do(t, "PUT", "/profiles/"+id, map[string]any{"allowLocal": slices.Repeat([]string{"localhost:3000"}, 21)}).invalid(t,
		"body.allowLocal")
	a.do(t, "GET", "/profiles/"+id, nil).equal(t, "allowLocal", []string{})

	closed := newAPI(t, func(c *setup) { c.ClosedPrivate = true })
	closed.do(t, "POST", "/profiles", `{"name":"p","allowLocal":["localhost:3000"]}`).invalid(t, "body.allowLocal")
	closed.do(t, "POST", "/profiles", `{"name":"p","allowLocal":[]}`).want(t, 201)
}

// What a profile may name, and in which spelling it is kept; and nothing where private networks are closed.
func TestLocalhostVia(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	r := a.do(t, "POST", "/profiles", `{"name":"x","localhostVia":[3000,"03000","App.Test:3000","shop.com:80",8080]}`).want(t, 201)
	r.equal(t, "localhostVia", []any{"3000", "app.test:3000", "shop.com:80", "8080"})
	_, port, _ := strings.Cut(a.hostPort(), ":")
	a.do(t, "PUT", "/profiles/"+r.text("id"), fmt.Sprintf(`{"localhostVia":[%s]}`, port)).invalid(t, "body.localhostVia[0]")
	a.do(t, "PUT", "/profiles/"+r.text("id"), `{"localhostVia":["0","65536","app.test","127.0.0.1:80","[::1]:80","*.test:80",
		"localhost:80","a.localhost:80","http://a:80","10.0.0.0/8:80","-1",""]}`).
		invalid(t, slicesOfFaults("body.localhostVia", 12)...)
	a.do(t, "PUT", "/profiles/"+r.text("id"), map[string]any{"localhostVia": make21()}).invalid(t, "body.localhostVia")
	closed := newAPI(t, func(c *setup) { c.ClosedPrivate = true })
	closed.do(t, "POST", "/profiles", `{"name":"x","localhostVia":[3000]}`).invalid(t, "body.localhostVia")
}

func slicesOfFaults(name string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%s[%d]", name, i))
	}
	return out
}

func make21() (out []int) {
	for i := range 21 {
		out = append(out, 4000+i)
	}
	return out
}
