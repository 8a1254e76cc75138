package state

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// Checks cookies by the rules that Chrome keeps (RFC 6265bis, net/cookies/canonical_cookie.cc). Whether a domain is a public suffix is
// left to Chrome, whose list may be newer.

const (
	maxPair      = 4096 // bytes of name and value together
	maxAttribute = 1024 // bytes of a domain or a path
)

// faultsOf says what is wrong with a cookie.
func faultsOf(c Cookie, now time.Time) (f faults) {
	f.require(c.Name != "" || c.Value != "", "It has neither a name nor a value.")
	f.require(!hasControl(c.Name), "The name has a TAB, a NUL or another control character.")
	f.require(!hasControl(c.Value), "The value has a TAB, a NUL or another control character.")
	f.require(!strings.ContainsAny(c.Name, "=;"), "The name has = or ; in it.")
	f.require(!strings.Contains(c.Value, ";"), "The value has a semicolon.")
	f.require(strings.Trim(c.Name, " ") == c.Name && strings.Trim(c.Value, " ") == c.Value,
		"The name or the value begins or ends with a space.")
	f.require(c.Name != "" || !strings.Contains(c.Value, "="), "It has no name, and its value has = in it.")
	if n := len(c.Name) + len(c.Value); n > maxPair {
		f = append(f, fmt.Sprintf("Name and value have %d bytes together, and may have %d.", n, maxPair))
	}
	f.require(strings.HasPrefix(c.Path, "/") && len(c.Path) <= maxAttribute && !hasControl(c.Path) && !strings.Contains(c.Path, ";"),
		"The path must begin with /, and may have 1024 bytes without control characters and semicolons.")
	f.require(!strings.Contains(c.Path, `\`) && !hasDots(c.Path),
		"The path has a backslash, or a part that is . or ..: Chrome would keep another.")
	f.require(c.SameSite != "None" || c.Secure, "SameSite=None needs a secure cookie.")
	f.require(c.PartitionKey == nil || c.Secure, "A partitioned cookie must be secure.")
	f.require(!c.Opaque, "It belongs to an opaque partition, which ends with its page.")
	f.require(c.PartitionKey == nil || isSite(c.PartitionKey.TopLevelSite),
		"The partition key must be a scheme and a host, such as https://example.com.")
	f.require(c.Session || c.Expires > secondsOf(now), "It has expired.")
	f.prefixes(c)
	return f
}

// prefixes checks what a name's prefix promises. Chrome compares prefixes without regard to case, also at the beginning of a value that
// has no name. __Http- and __Host-Http- are those of cookies that no script has set.
func (f *faults) prefixes(c Cookie) {
	shown := c.Name
	if shown == "" {
		shown = c.Value
	}
	host, secure := hasPrefixFold(shown, "__Host-"), hasPrefixFold(shown, "__Secure-")
	http := hasPrefixFold(shown, "__Http-") || hasPrefixFold(shown, "__Host-Http-")
	if c.Name == "" {
		f.require(!host && !secure && !http, "It has no name, and its value begins as the name of a protected cookie.")
		return
	}
	if host {
		f.require(!strings.HasPrefix(c.Domain, "."), "A __Host- cookie must be of one host: no domain.")
		f.require(c.Path == "/", "A __Host- cookie must have the path /.")
	}
	f.require(c.Secure || !host, "A __Host- cookie must be secure.")
	f.require(c.Secure || !secure, "A __Secure- cookie must be secure.")
	f.require(!http || c.Secure && c.HTTPOnly, "A __Http- cookie must be secure and HttpOnly.")
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func secondsOf(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// siteOfPage returns the site of a page's address as Chrome writes it in partition keys: scheme and registrable domain. ok is false for
// what is none.
func siteOfPage(text string) (site string, ok bool) {
	if text == "file://" {
		return text, true
	}
	u, err := url.Parse(text)
	if err != nil || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", false
	}
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if !isHost(host) && !isAddress(host) {
		return "", false
	}
	switch u.Scheme {
	case "http", "https", "ws", "wss":
		return u.Scheme + "://" + siteOf(host), true
	case "chrome-extension":
		return u.Scheme + "://" + host, true
	}
	return "", false
}

// isSite reports whether text is a site as Chrome writes it.
func isSite(text string) bool {
	site, ok := siteOfPage(text)
	return ok && site == text
}

// plainInPath are the characters that Chrome leaves in a path as they are. It writes others with %XX.
const plainInPath = "!$%&'()*+,-./0123456789:=@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]_abcdefghijklmnopqrstuvwxyz~"

// canonicalPath writes a path as Chrome keeps it when a cookie is set by CDP.
func canonicalPath(path string) string {
	if strings.Trim(path, plainInPath) == "" {
		return path
	}
	var b strings.Builder
	for i := range len(path) {
		switch c := path[i]; {
		case strings.IndexByte(plainInPath, c) >= 0 || c == '\\' || c == ';' || c < ' ' || c == 0x7f: // the last ones are refused
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// hasDots reports whether a path has segments . or .., also as %2e, which Chrome resolves.
func hasDots(path string) bool {
	for segment := range strings.SplitSeq(strings.ToLower(path), "/") {
		if plain := strings.ReplaceAll(segment, "%2e", "."); plain == "." || plain == ".." {
			return true
		}
	}
	return false
}

// hostOf checks a cookie's domain and returns it as Chrome has it: in lower case and ASCII, with a dot in front where subdomains are
// included. note tells of a conversion.
func hostOf(domain string) (host, note string, f faults) {
	name, dotted := strings.CutPrefix(domain, ".")
	if strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) {
		ascii, err := idna.Lookup.ToASCII(name)
		f.require(err == nil, "The domain cannot be written in ASCII (IDNA).")
		name, note = ascii, "domain_converted"
	}
	name = strings.ToLower(name)
	address := isAddress(name)
	f.require(address || isHost(name),
		"The domain must be a host name without scheme, port and path, such as example.com or .example.com.")
	f.require(!dotted || !address, "An address has no subdomains: write it without a dot in front.")
	f.require(!dotted || address || len(f) > 0 || !isPublicSuffix(strings.TrimSuffix(name, ".")),
		"The domain is a public suffix, such as com: Chrome would keep the cookie for this host alone.")
	if dotted {
		name = "." + name
	}
	return name, note, f
}

// isAddress reports whether a host is an IPv4 address, or an IPv6 address in brackets, as Chrome writes it.
func isAddress(host string) bool {
	inner, v6 := strings.CutPrefix(host, "[")
	if v6 {
		inner, v6 = strings.CutSuffix(inner, "]")
	}
	a, err := netip.ParseAddr(inner)
	if err != nil || a.Zone() != "" || !a.Is4() && !v6 || a.Is4() && v6 {
		return false
	}
	if a.Is4In6() { // the standard library writes its end as an IPv4 address, and Chrome does not
		return !strings.Contains(inner, ".")
	}
	return a.String() == inner
}

// isHost reports whether a name has labels of letters, digits, - and _. Chrome takes the underscore, and a dot at the end. It reads a
// name whose last label is a number as an IPv4 address.
func isHost(name string) bool {
	name = strings.TrimSuffix(name, ".")
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
		}) {
			return false
		}
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	hex, isHex := strings.CutPrefix(last, "0x")
	return strings.Trim(last, "0123456789") != "" && (!isHex || strings.Trim(hex, "0123456789abcdef") != "")
}

// isPublicSuffix reports whether a host is one of which everybody can have a subdomain, such as com or co.uk.
func isPublicSuffix(host string) bool {
	suffix, _ := publicsuffix.PublicSuffix(host)
	return suffix == host
}

// siteOf returns the registrable domain of a cookie's domain, or its host where there is none.
func siteOf(domain string) string {
	host := strings.TrimPrefix(domain, ".")
	if site, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil && !isAddress(host) {
		return site
	}
	return host
}
