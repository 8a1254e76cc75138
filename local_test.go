package main

import (
	"slices"
	"testing"
)

// What a profile's pages may reach of this machine is named exactly, in one spelling, and never this server itself; a server that lets
// nobody into private networks takes no name at all.
func TestAllowLocalMember(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.srv.port = "7777"
	id := a.do(t, "POST", "/profiles", `{"name":"p","allowLocal":["LocalHost:3000","127.1:80","localhost.:3000","[::ffff:10.0.0.1]:8080"]}`).want(t, 201).text("id")
	a.do(t, "GET", "/profiles/"+id, nil).equal(t, "allowLocal", []string{"localhost:3000", "127.0.0.1:80", "10.0.0.1:8080"})
	r := a.do(t, "PUT", "/profiles/"+id, `{"backgroundTraffic":"allow"}`).want(t, 200)
	r.equal(t, "backgroundTraffic", "allow")
	r.equal(t, "allowLocal", []string{"localhost:3000", "127.0.0.1:80", "10.0.0.1:8080"})
	r = a.do(t, "PUT", "/profiles/"+id, `{"allowLocal":null,"backgroundTraffic":null}`).want(t, 200)
	r.equal(t, "backgroundTraffic", "refuse")
	r.equal(t, "allowLocal", []string{})
	a.do(t, "PUT", "/profiles/"+id, `{"allowLocal":["localhost:3000","nas.local:80","169.254.169.254:80","localhost"],"backgroundTraffic":"maybe"}`).
		invalid(t, "body.allowLocal[1]", "body.allowLocal[2]", "body.allowLocal[3]", "body.backgroundTraffic")
	a.do(t, "PUT", "/profiles/"+id, `{"allowLocal":["localhost:7777","127.9.9.9:7777","[::1]:7777","10.9.8.7:7777"]}`).
		invalid(t, "body.allowLocal[0]", "body.allowLocal[1]", "body.allowLocal[2]")
	a.do(t, "PUT", "/profiles/"+id, `{"allowLocal":["nas.local:80","localhost:3000","localhost:7777"]}`).invalid(t, "body.allowLocal[0]", "body.allowLocal[2]")
	a.do(t, "PUT", "/profiles/"+id, map[string]any{"allowLocal": slices.Repeat([]string{"localhost:3000"}, 21)}).invalid(t, "body.allowLocal")
	a.do(t, "GET", "/profiles/"+id, nil).equal(t, "allowLocal", []string{})

	closed := newAPI(t, func(cfg *serveConfig) { cfg.AllowPrivate = "no" })
	closed.do(t, "POST", "/profiles", `{"name":"p","allowLocal":["localhost:3000"]}`).invalid(t, "body.allowLocal")
	closed.do(t, "POST", "/profiles", `{"name":"p","allowLocal":[]}`).want(t, 201)
}
