package proxy

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// The text form of a proxy. The rules are:
//
//   - The form is scheme://[user[:password]@]host:port. One slash may follow the port.
//   - The last @ ends the user info, and the first colon in it ends the user name. RFC 3986 section 3.2.1 wants other ones encoded.
//     A raw @ or / in a password is still unambiguous, and accepted.
//   - %XX is decoded in user name and password, to any byte but NUL, CR and LF. A lone % is a fault.
//   - Nothing is guessed: there is no default scheme and no default port.
//
// No error repeats the input, which may hold a password.

// Limits in bytes. RFC 1929 has one byte for each length. The limit for HTTP keeps headers small.
const (
	maxHost           = 255
	maxCredential     = 255
	maxHTTPCredential = 4096
)

// Messages that several places share.
const (
	badPort     = "Enter a port from 1 to 65535."
	needsScheme = "Begin with the type: socks5://, http://, https:// or socks4://."
)

// Fault is one thing that is wrong with a Proxy. Field is type, host, port, username or password. Message is a sentence for
// people and never repeats a secret.
type Fault struct{ Field, Message string }

// ParseError is the error of Parse. It holds every fault.
type ParseError struct{ Faults []Fault }

// Error lists the faults.
func (e *ParseError) Error() string {
	parts := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		parts[i] = f.Message
	}
	return "proxy: " + strings.Join(parts, " ")
}

// Parse reads a proxy from a URL such as "socks5://user:pass@host:1080". The result is normalised and valid.
// The error is a *ParseError.
func Parse(s string) (Proxy, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	typ, known := ParseType(scheme)
	if !ok || !known {
		return Proxy{}, &ParseError{[]Fault{{"type", needsScheme}}}
	}
	p := Proxy{Type: typ}
	var faults []Fault
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		faults = p.parseUserinfo(rest[:at])
		rest = rest[at+1:]
	}
	faults = append(faults, p.parseHostPort(strings.TrimSuffix(rest, "/"))...)
	p = p.Normalize()
	if faults = addFaults(faults, p.Validate()); len(faults) > 0 {
		return Proxy{}, &ParseError{faults}
	}
	return p, nil
}

// addFaults adds the faults of further fields.
func addFaults(faults, more []Fault) []Fault {
	for _, f := range more {
		if !slices.ContainsFunc(faults, func(known Fault) bool { return known.Field == f.Field }) {
			faults = append(faults, f)
		}
	}
	return faults
}

func (p *Proxy) parseUserinfo(s string) (faults []Fault) {
	user, pass, _ := strings.Cut(s, ":")
	var err error
	if p.Username, err = url.PathUnescape(user); err != nil {
		faults = append(faults, Fault{"username", "Write % as %25 in the user name."})
	}
	if p.Password, err = url.PathUnescape(pass); err != nil {
		faults = append(faults, Fault{"password", "Write % as %25 in the password."})
	}
	return faults
}

func (p *Proxy) parseHostPort(s string) (faults []Fault) {
	host, port := s, ""
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
		host, port = s[:i], s[i+1:]
	}
	p.Host = host
	if strings.IndexByte(host, ':') >= 0 && !strings.HasPrefix(host, "[") {
		faults = append(faults, Fault{"host", "Put brackets around an IPv6 address: [2001:db8::1]."})
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		faults = append(faults, Fault{"port", "Enter a port from 1 to 65535 behind the host, as in host:1080."})
	}
	p.Port = int(n)
	return faults
}

// Normalize returns the proxy in the form in which it is stored and compared:
//
//   - The type is no synonym.
//   - The host is in lower case, without brackets and final dot. International names are in ASCII (RFC 5891).
//   - Addresses are in their shortest form.
//
// A value that cannot be normalised stays as it is; Validate names it.
func (p Proxy) Normalize() Proxy {
	if t, ok := ParseType(string(p.Type)); ok {
		p.Type = t
	}
	host := unbracket(p.Host)
	if a, err := netip.ParseAddr(host); err == nil {
		if host == p.Host || a.Is6() {
			p.Host = a.String()
		}
		return p
	}
	if !isASCII(p.Host) && utf8.ValidString(p.Host) {
		if ascii, err := idna.Lookup.ToASCII(p.Host); err == nil {
			p.Host = ascii
		}
	}
	if isASCII(p.Host) {
		p.Host = strings.ToLower(p.Host)
	}
	p.Host = cmp.Or(strings.TrimSuffix(p.Host, "."), p.Host)
	return p
}

// Validate returns every fault, or nil. It accepts a host with brackets.
func (p Proxy) Validate() (faults []Fault) {
	add := func(field, message string) { faults = append(faults, Fault{field, message}) }
	if _, ok := ParseType(string(p.Type)); !ok {
		add("type", "Choose a type: socks5, http, https or socks4.")
	}
	if m := hostFault(p.Host); m != "" {
		add("host", m)
	}
	if p.Port < 1 || p.Port > 65535 {
		add("port", badPort)
	}
	typ, _ := ParseType(string(p.Type))
	if m := credentialFault(typ, "user name", p.Username); m != "" {
		add("username", m)
	} else if (typ == HTTP || typ == HTTPS) && strings.Contains(p.Username, ":") {
		add("username", "Remove the colon from the user name: HTTP proxies cannot take one.")
	} else if p.Username == "" && p.Password != "" && typ != SOCKS4 {
		add("username", "Enter the user name that belongs to the password, or remove the password.")
	}
	if m := credentialFault(typ, "password", p.Password); m != "" {
		add("password", m)
	} else if typ == SOCKS4 && p.Password != "" {
		add("password", "SOCKS4 takes no password. Remove it, or choose another type.")
	}
	return faults
}

func credentialFault(t Type, what, s string) string {
	limit := maxCredential
	if t == HTTP || t == HTTPS {
		limit = maxHTTPCredential
	}
	if len(s) > limit {
		return "Shorten the " + what + " to at most " + strconv.Itoa(limit) + " bytes."
	}
	if strings.ContainsAny(s, "\x00\r\n") {
		return "Remove line breaks and NUL bytes from the " + what + "."
	}
	return ""
}

func hostFault(host string) string {
	bare := unbracket(host)
	a, err := netip.ParseAddr(bare)
	switch {
	case IsDebugHost(host):
		return "Addresses in 127.77.0.0/16 are reserved for Warren. Enter another host."
	case host == "":
		return "Enter a host name or an IP address."
	case len(host) > maxHost:
		return "Shorten the host to at most 255 bytes."
	case err == nil && a.Zone() != "":
		return "Remove the zone from the address: % and what follows."
	case err == nil && (bare == host || a.Is6()):
		return ""
	case strings.Contains(host, "://"):
		return "Remove the part up to :// from the host. The type says it."
	case strings.Contains(host, "@"):
		return "Remove the user name from the host. It has a field of its own."
	case strings.ContainsAny(host, "[]"):
		return "There is no valid IPv6 address between the brackets."
	case strings.Count(host, ":") == 1:
		return "Remove the port from the host. It has a field of its own."
	case !isHostName(asciiHost(host)):
		return "Enter a host name or an IP address, without spaces and special characters."
	}
	return ""
}

// asciiHost returns the host as Normalize leaves it.
func asciiHost(host string) string { return Proxy{Host: host}.Normalize().Host }

// isHostName reports whether s is a name that can be looked up: letters, digits, "-", "_" and single dots, one of which may end it.
// A label has at most 63 bytes (RFC 1035 section 2.3.4).
func isHostName(s string) bool {
	s = strings.TrimSuffix(s, ".")
	if s == "" || len(s) > maxHost {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for i := range len(label) {
			if !isAlnum(label[i]) && label[i] != '-' && label[i] != '_' {
				return false
			}
		}
	}
	return true
}

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

func unbracket(host string) string {
	if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
		return host[1 : len(host)-1]
	}
	return host
}

// percentEncode keeps the unreserved characters (RFC 3986 section 2.3) and encodes every other byte.
func percentEncode(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if isAlnum(c) || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
