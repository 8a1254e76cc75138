package state

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPlan: setting and removing what Plan says makes the profile's cookies those that the mode promises.
func TestPlan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.Custom(func(t *rapid.T) Cookie {
			return Cookie{Name: rapid.SampledFrom([]string{"n", "m"}).Draw(t, "name"),
				Value:  rapid.SampledFrom([]string{"1", "2"}).Draw(t, "value"),
				Domain: rapid.SampledFrom([]string{"a.example", ".a.example", "x.a.example", "b.example", "aa.example"}).Draw(t, "domain"),
				Path:   "/", Session: true, Expires: -1}
		})
		have := rapid.SliceOfDistinct(few, Cookie.Key).Draw(t, "have")
		want := rapid.SliceOfDistinct(few, Cookie.Key).Draw(t, "want")
		mode := rapid.SampledFrom([]Mode{Merge, ReplaceDomains, ReplaceAll}).Draw(t, "mode")
		domains := rapid.SampledFrom([][]string{nil, {"a.example"}, {".x.a.example", "B.example"}}).Draw(t, "domains")
		p := Plan(have, want, mode, domains)
		if len(p.Set)+p.Unchanged+p.Outside != len(want) || len(p.Of) != len(p.Set) {
			t.Fatalf("%+v of %d", p, len(want))
		}
		after := map[Key]string{}
		for _, c := range have {
			after[c.Key()] = c.Value
		}
		for _, c := range p.Remove {
			delete(after, c.Key())
		}
		for i, c := range p.Set {
			if after[c.Key()] == c.Value || want[p.Of[i]] != c {
				t.Fatalf("%+v is set and is there already, or is another one", c)
			}
			after[c.Key()] = c.Value
		}
		if promised := promised(have, want, mode, domains); !reflect.DeepEqual(after, promised) {
			t.Fatalf("%s %q: %v, want %v", mode, domains, after, promised)
		}
	})
}

// promised is what the documents say of the modes, without a thought for cost.
func promised(have, want []Cookie, mode Mode, domains []string) map[Key]string {
	of := func(domain string, among []string) bool {
		for _, d := range among {
			host, d := strings.TrimPrefix(domain, "."), strings.ToLower(strings.TrimPrefix(d, "."))
			if host == d || strings.HasSuffix(host, "."+d) {
				return true
			}
		}
		return false
	}
	scope := domains
	if len(domains) == 0 {
		for _, c := range want {
			scope = append(scope, c.Domain)
		}
	}
	out := map[Key]string{}
	for _, c := range have {
		stays := mode == Merge || mode == ReplaceDomains && !of(c.Domain, scope)
		if stays || mode == ReplaceAll && len(domains) > 0 && !of(c.Domain, domains) {
			out[c.Key()] = c.Value
		}
	}
	for _, c := range want {
		if len(domains) == 0 || of(c.Domain, domains) {
			out[c.Key()] = c.Value
		}
	}
	return out
}

// TestSame: a cookie counts as unchanged only if setting it would change nothing.
func TestSame(t *testing.T) {
	t.Parallel()
	have := Cookie{Name: "n", Value: "v", Domain: "a.example", Path: "/", Expires: 1800000000.123456, Priority: "High",
		SourceScheme: "Secure", SourcePort: 443, SameSite: "Lax"}
	said := have
	said.Priority, said.SourceScheme, said.SourcePort = "", "", 0
	if !same(have, have) || !same(have, said) {
		t.Error("what is the same is not")
	}
	for i, change := range []func(*Cookie){
		func(c *Cookie) { c.Value = "w" }, func(c *Cookie) { c.HTTPOnly = true }, func(c *Cookie) { c.Secure = true },
		func(c *Cookie) { c.SameSite = "" }, func(c *Cookie) { c.Session = true }, func(c *Cookie) { c.Expires += 0.000002 },
		func(c *Cookie) { c.Priority = "Low" }, func(c *Cookie) { c.SourceScheme = "NonSecure" }, func(c *Cookie) { c.SourcePort = 80 },
	} {
		c := have
		change(&c)
		if same(have, c) {
			t.Errorf("change %d is none", i)
		}
	}
	if got := OfDomains([]Cookie{have}, []string{"example"}); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	if d, err := CheckDomain(".MÜNCHEN.example"); err != nil || d != "xn--mnchen-3ya.example" {
		t.Error(d, err)
	}
	if d, err := CheckDomain(".com"); err != nil || d != "com" {
		t.Error(d, err)
	}
	if _, err := CheckDomain("https://a"); err == nil {
		t.Error("an address is a domain")
	}
}

// TestPlanCredentials: each mode removes what it says, a counter never goes back, and what is the same is not set.
func TestPlanCredentials(t *testing.T) {
	t.Parallel()
	one := func(id, site string, count int64) Credential { return Credential{ID: id, RPID: site, SignCount: count} }
	kept := one("a", "a.example", 9)
	kept.UserName = "ann"
	have := []Credential{kept, one("b", "a.example", 1), one("c", "c.example", 1)}
	want := []Credential{one("a", "a.example", 3), one("d", "a.example", 2)}
	for mode, remove := range map[Mode][]string{Merge: nil, ReplaceDomains: {"b"}, ReplaceAll: {"b", "c"}} {
		got := PlanCredentials(have, want, mode)
		if !slices.Equal(got.Remove, remove) || got.Taken != 2 || len(got.Set) != 1 || got.Set[0].ID != "d" ||
			got.All != 4-len(remove) {
			t.Errorf("%s: %+v", mode, got)
		}
	}
	newer := PlanCredentials(have, []Credential{one("a", "a.example", 12)}, Merge).Set
	if len(newer) != 1 || newer[0].SignCount != 12 || newer[0].UserName != "ann" {
		t.Errorf("%+v", newer)
	}
	if got := CredentialsOf(have, []string{"example"}); len(got) != 3 {
		t.Errorf("%+v", got)
	}
	if got := CredentialsOf(have, []string{"c.example"}); len(got) != 1 || got[0].ID != "c" {
		t.Errorf("%+v", got)
	}
}
