package state

import (
	"fmt"
	"slices"
	"testing"
)

// TestRemovals: a file names cookies that go. What is wrong with a name is told with its place, and only exact keys are removed.
func TestRemovals(t *testing.T) {
	t.Parallel()
	c := read(t, `{"remove":[
		{"name":"a","domain":".shop.example","path":"/p","value":7,"expires":1},
		{"name":"b","domain":"Shop.example","path":"/","partitionKey":"https://top.example","_crHasCrossSiteAncestor":false},
		{"name":"c","domain":"shop.example"}, 3, {"name":"d","domain":"x.example","path":"/","partitionKeyOpaque":true}],
		"cookies":[{"name":"n","value":"v","domain":"shop.example","path":"/"}]}`, "")
	want := []Key{{Name: "a", Domain: ".shop.example", Path: "/p"},
		{Name: "b", Domain: "Shop.example", Path: "/", Partition: PartitionKey{TopLevelSite: "https://top.example"}}}
	if !slices.Equal(c.Remove, want) || len(c.Cookies) != 1 || c.Index[0] != 0 || len(c.Refused) != 3 || len(c.Notices) != 0 {
		t.Errorf("%+v", c)
	}
	for i, reason := range []string{"The path is missing.", "It is not an object.",
		"It belongs to an opaque partition, which no name reaches."} {
		if r := c.Refused[i]; r.Place != fmt.Sprintf("remove[%d]", i+2) || r.Reason != reason {
			t.Errorf("%+v", r)
		}
	}
	for text, named := range map[string]bool{`{"remove":[]}`: true, `{"cookies":[]}`: false} {
		if got := read(t, text, "").Remove != nil; got != named {
			t.Errorf("%s: named %v", text, got)
		}
	}

	key := func(name, domain string) Cookie { return Cookie{Name: name, Domain: domain, Path: "/", Session: true} }
	opaque := key("a", "b.example")
	opaque.Opaque = true
	have := []Cookie{key("a", "a.example"), key("a", ".a.example"), key("b", "a.example"), key("a", "c.example"), opaque}
	named := []Key{have[0].Key(), have[2].Key(), have[3].Key(), opaque.Key(), {Name: "none", Domain: "a.example", Path: "/"}}
	p := Plan(have, have[2:3], ReplaceDomains, []string{"a.example"})
	p.RemoveNamed(have, have[2:3], named, []string{"a.example", "b.example"})
	if !slices.Equal(p.Remove, have[:2]) || p.Unchanged != 1 {
		t.Errorf("of a domain go %+v", p)
	}
	p = Plan(have, have[2:3], Merge, nil)
	if p.RemoveNamed(have, have[2:3], named, nil); !slices.Equal(p.Remove, []Cookie{have[0], have[3]}) {
		t.Errorf("named are removed: %+v", p)
	}
}
