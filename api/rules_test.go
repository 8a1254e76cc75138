package api

import (
	"strings"
	"testing"
)

// Every fault of a list of rules is told at its place, and what is taken is told in one spelling.
func TestRulesOfAProfile(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.do(t, "POST", "/profiles", `{"name":"x","allowHosts":["https://a.example","b.example","a b"],"denyHosts":["10.0.0.*"]}`).
		invalid(t, "body.allowHosts[0]", "body.allowHosts[2]", "body.denyHosts[0]")
	a.do(t, "POST", "/profiles", map[string]any{"name": "x", "denyHosts": strings.Split(strings.Repeat("a,", 1000)+"a", ",")}).
		invalid(t, "body.denyHosts")
	r := a.do(t, "POST", "/profiles", `{"name":"x","allowHosts":["Bücher.Example.","0x7f.1:080","*.a","*.a"]}`).want(t, 201)
	r.equal(t, "allowHosts", []any{"xn--bcher-kva.example", "127.0.0.1:80", "*.a"})
	r.equal(t, "denyHosts", []any{})
	a.do(t, "PUT", "/profiles/"+r.text("id"), `{"allowHosts":null}`).want(t, 200).equal(t, "allowHosts", []any{})
}
