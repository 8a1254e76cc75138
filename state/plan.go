package state

import (
	"math"
	"slices"
	"strings"
)

// Mode says what writing does with cookies that the file does not have.
type Mode string

// The modes.
const (
	Merge          Mode = "merge"           // they stay
	ReplaceDomains Mode = "replace-domains" // those of the file's domains go, or of the domains that the caller names
	ReplaceAll     Mode = "replace-all"     // all of them go
)

// Changes are what makes a profile's cookies those that are wanted.
type Changes struct {
	Set       []Cookie
	Of        []int    // of each of Set, its index among those that were wanted
	Remove    []Cookie // cookies of the profile that no wanted one replaces
	Unchanged int      // wanted cookies that the profile has already
	Outside   int      // wanted cookies of other domains than those that were asked for
}

// Plan compares the cookies of a profile with those that are wanted. With domains, only cookies of these domains are set and removed.
//
// A domain stands for itself and for its subdomains: example.com for the cookies of example.com, .example.com and shop.example.com.
func Plan(have, want []Cookie, mode Mode, domains []string) Changes {
	var out Changes
	asked := newDomainSet(domains)
	before := make(map[Key]Cookie, len(have))
	for _, c := range have {
		before[c.Key()] = c
	}
	wanted := make(map[Key]bool, len(want))
	for i, c := range want {
		if len(domains) > 0 && !asked.has(c.Domain) {
			out.Outside++
			continue
		}
		wanted[c.Key()] = true
		if old, there := before[c.Key()]; there && same(old, c) {
			out.Unchanged++
			continue
		}
		out.Set, out.Of = append(out.Set, c), append(out.Of, i)
	}
	replaces := replaced(want, mode, domains)
	for _, c := range have {
		if !wanted[c.Key()] && replaces(c.Domain) {
			out.Remove = append(out.Remove, c)
		}
	}
	return out
}

// RemoveNamed adds the cookies with these keys to those that are removed. One that is wanted stays, and so does one of another domain than
// those that were asked for.
func (c *Changes) RemoveNamed(have, want []Cookie, named []Key, domains []string) {
	keys := make(map[Key]bool, len(named))
	for _, key := range named {
		keys[key] = true
	}
	for _, cookie := range slices.Concat(want, c.Remove) {
		delete(keys, cookie.Key())
	}
	for _, cookie := range OfDomains(have, domains) {
		if keys[cookie.Key()] && !cookie.Opaque { // an opaque one's key does not say it
			c.Remove = append(c.Remove, cookie)
		}
	}
}

// replaced returns which domains' cookies go unless they are wanted.
func replaced(want []Cookie, mode Mode, domains []string) func(domain string) bool {
	switch {
	case mode != ReplaceAll && mode != ReplaceDomains:
		return func(string) bool { return false }
	case len(domains) > 0:
		return newDomainSet(domains).has
	case mode == ReplaceAll:
		return func(string) bool { return true }
	}
	set := domainSet{}
	for _, c := range want {
		set[bare(c.Domain)] = true
	}
	return set.has
}

// OfDomains returns the cookies of domains and of their subdomains. Without domains it returns all.
func OfDomains(cookies []Cookie, domains []string) []Cookie {
	if len(domains) == 0 {
		return cookies
	}
	set := newDomainSet(domains)
	out := []Cookie{}
	for _, c := range cookies {
		if set.has(c.Domain) {
			out = append(out, c)
		}
	}
	return out
}

// CheckDomain returns a domain of a filter as cookies have it, without a dot in front. Its error is a sentence.
func CheckDomain(domain string) (string, error) {
	host, _, f := hostOf(strings.TrimPrefix(domain, "."))
	if len(f) > 0 {
		return "", broken(f.text())
	}
	return host, nil
}

// domainSet has domains without a dot in front.
type domainSet map[string]bool

func newDomainSet(domains []string) domainSet {
	out := domainSet{}
	for _, d := range domains {
		out[bare(d)] = true
	}
	return out
}

func bare(domain string) string { return strings.ToLower(strings.TrimPrefix(domain, ".")) }

// has reports whether a cookie's domain is one of the set, or a subdomain of one.
func (s domainSet) has(domain string) bool {
	for host := bare(domain); host != ""; {
		if s[host] {
			return true
		}
		_, rest, ok := strings.Cut(host, ".")
		if !ok {
			return false
		}
		host = rest
	}
	return false
}

// same reports whether setting c would leave the cookie as it is. What c does not say of priority and source changes nothing.
func same(old, c Cookie) bool {
	return old.Value == c.Value && old.HTTPOnly == c.HTTPOnly && old.Secure == c.Secure && old.SameSite == c.SameSite &&
		old.Session == c.Session && (c.Session || math.Abs(old.Expires-c.Expires) < 1e-6) &&
		(c.Priority == "" || c.Priority == old.Priority) &&
		(c.SourceScheme == "" || c.SourceScheme == old.SourceScheme) && (c.SourcePort == 0 || c.SourcePort == old.SourcePort)
}
