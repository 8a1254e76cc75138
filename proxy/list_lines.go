package proxy

import (
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Reads the lines of proxy lists as sellers and people write them. Nothing is guessed: an ambiguous line gives all its readings.
// The forms are these, each with or without scheme:// before it:
//
//	(a) host:port                 (d) user:password@host:port, user@host:port
//	(b) host:port:user:password   (e) host:port@user:password, host:port@user
//	(c) user:password:host:port
//
// The readings of a line are the forms for which all of this holds:
//
//   - A port is 1 to 65535 in digits, without a leading zero.
//   - A host is an IPv4 address, an IPv6 address in brackets, or a name. No label of a name begins or ends with "-".
//   - The last label is no number, decimal or hexadecimal with 0x: 1080, 1.2.3 and 999.1.1.1 are no hosts.
//   - A user name ends at its first colon, as in a URL; a password may have colons. Neither is empty.
//     The exception is host:port::, which is host:port.
//   - Validate accepts the credentials for the type: no password for socks4, at most 255 bytes for SOCKS.
//   - In (b) and (c) the host is no IPv6 address without brackets, whose groups look like the other parts.
//
// A line with a scheme and an @ is a URL (RFC 3986) of form (d). Another form is tried only when that is impossible.
// %XX is decoded in a URL only, since sellers' passwords have percent signs.
//
// Spaces, tabs, CR and one pair of quotes around a line are removed. Control characters and invalid UTF-8 are refused: a URL can carry
// both as %XX.

// maxLine is the longest line in bytes: a URL whose longest credentials are all %XX.
const maxLine = 3*2*maxHTTPCredential + 1024

// ReadLine returns every proxy that a line can mean, normalised and valid. byDefault is the type of a line without a scheme.
// A line without a reading is an error that says why, and repeats nothing of the line. A blank line or a comment (#) returns nil, nil.
func ReadLine(line string, byDefault Type) ([]Proxy, error) {
	line = trimLine(line)
	switch {
	case line == "" || line[0] == '#':
		return nil, nil
	case len(line) > maxLine:
		return nil, errors.New("The line is longer than " + strconv.Itoa(maxLine) + " bytes.")
	case !utf8.ValidString(line):
		return nil, Sentence("The line is not UTF-8 text.")
	case strings.ContainsFunc(line, unicode.IsControl):
		return nil, Sentence("Remove control characters from the line.")
	}
	r := lineReading{typ: byDefault, rest: line}
	scheme, rest, ok := strings.Cut(line, "://")
	if ok = ok && isScheme(scheme); ok {
		typ, known := ParseType(scheme)
		if !known {
			return nil, Sentence(needsScheme)
		}
		r.typ, r.rest = typ, strings.TrimSuffix(rest, "/")
		if strings.Contains(rest, "@") {
			p, err := Parse(line)
			if err == nil {
				return []Proxy{p}, nil
			}
			r.reject("Read as scheme://user:password@host:port: " + strings.TrimPrefix(err.Error(), "proxy: "))
		}
	}
	r.try(ok)
	if len(r.found) == 0 {
		return nil, errors.New(strings.Join(r.reasons, " "))
	}
	return r.found, nil
}

// Readings prints the proxies that ReadLine returned, without passwords. The port or host of one reading may be the password of
// another, and is then left out too.
func Readings(found []Proxy) []string {
	out := make([]string, len(found))
	for i, p := range found {
		hide := func(part string) string {
			for j, other := range found {
				if j != i && strings.Contains(":"+other.Password+":", ":"+part+":") {
					return "***"
				}
			}
			return part
		}
		host, port := cutLast(p.Address())
		userinfo := ""
		if p.Username != "" {
			userinfo = hide(p.Username)
			if userinfo != "***" {
				userinfo = percentEncode(userinfo)
			}
			if p.Password != "" {
				userinfo += ":***"
			}
			userinfo += "@"
		}
		out[i] = string(p.Type) + "://" + userinfo + hide(host) + ":" + hide(port)
	}
	return out
}

func trimLine(s string) string {
	s = strings.TrimSpace(s)
	if n := len(s); n >= 2 && s[0] == s[n-1] && strings.IndexByte("\"'`", s[0]) >= 0 {
		s = strings.TrimSpace(s[1 : n-1])
	}
	return s
}

// isScheme reports whether s may stand before "://" (RFC 3986 section 3.1).
func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if !(c >= 'a' && c <= 'z' || i > 0 && (s[i] >= '0' && s[i] <= '9' || strings.IndexByte("+-.", s[i]) >= 0)) {
			return false
		}
	}
	return s != ""
}

// lineReading collects what a line can mean, and why it does not mean the rest.
type lineReading struct {
	typ     Type
	rest    string
	found   []Proxy
	reasons []string
}

func (r *lineReading) reject(why string) { r.reasons = append(r.reasons, why) }

// try reads the line in each form that it has the parts for. With url, form (d) was tried already.
func (r *lineReading) try(url bool) {
	parts := strings.Count(withoutBrackets(r.rest), ":") + 1
	if at := strings.LastIndexByte(r.rest, '@'); at >= 0 {
		if !url {
			r.add("user:password@host:port", r.rest[at+1:], "", r.rest[:at])
		}
		at = strings.IndexByte(r.rest, '@')
		r.add("host:port@user:password", r.rest[:at], "", r.rest[at+1:])
		if parts < 4 {
			return
		}
	}
	switch {
	case bareIPv6(r.rest):
		r.reject("Put brackets around an IPv6 address: [2001:db8::1]:1080.")
	case parts == 1:
		r.reject("The port is missing. Write host:port.")
	case parts == 2:
		r.add("", r.rest, "", "")
	case parts == 3:
		r.reject("A part is missing or too much. Write host:port, host:port:user:password or scheme://user@host:port.")
	default:
		host, rest := cutHost(r.rest)
		port, userinfo, _ := strings.Cut(rest, ":")
		if userinfo == ":" { // host:port::
			userinfo = ""
		}
		r.add("host:port:user:password", host, port, userinfo)
		before, port := cutLast(r.rest)
		userinfo, host = cutLast(before)
		r.add("user:password:host:port", host, port, userinfo)
	}
}

// add keeps a reading if it is possible. Without a port, host ends in it.
func (r *lineReading) add(form, host, port, userinfo string) {
	if port == "" {
		if host, port = cutLast(host); strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
			port = ""
		}
	}
	p, faults := proxyOf(r.typ, host, port, userinfo)
	if len(faults) == 0 {
		if !slices.Contains(r.found, p) {
			r.found = append(r.found, p)
		}
		return
	}
	why := strings.TrimPrefix((&ParseError{faults}).Error(), "proxy: ")
	if form != "" {
		why = "Read as " + form + ": " + why
	}
	r.reject(why)
}

// proxyOf makes a proxy of the parts of a line, and returns what is wrong with it.
func proxyOf(typ Type, host, port, userinfo string) (p Proxy, faults []Fault) {
	p = Proxy{Type: typ, Host: host}
	hasPassword := false
	p.Username, p.Password, hasPassword = strings.Cut(userinfo, ":")
	if n, ok := readPort(port); ok {
		p.Port = n
	} else {
		faults = append(faults, Fault{"port", badPort})
	}
	if !isHost(host) {
		faults = append(faults, Fault{"host", "Enter the host as a name, an IPv4 address or an IPv6 address in brackets."})
	}
	if userinfo != "" && (p.Username == "" || hasPassword && p.Password == "") {
		faults = append(faults, Fault{"username", "Enter both user name and password."})
	}
	if len(host) <= maxHost { // a longer one is refused below, and takes time to normalise
		p = p.Normalize()
	}
	return p, addFaults(faults, p.Validate())
}

// cutHost splits off the host, up to the first colon outside brackets.
func cutHost(s string) (host, rest string) {
	if end := strings.IndexByte(s, ']'); strings.HasPrefix(s, "[") && end >= 0 {
		host, s = s[:end+1], s[end+1:]
		return host, strings.TrimPrefix(s, ":")
	}
	host, rest, _ = strings.Cut(s, ":")
	return host, rest
}

// cutLast splits off the last part, from the last colon outside brackets.
func cutLast(s string) (before, last string) {
	from := len(s)
	if strings.HasSuffix(s, "]") {
		from = max(0, strings.LastIndexByte(s, '['))
	}
	i := strings.LastIndexByte(s[:from], ':')
	if i < 0 {
		return "", s
	}
	return s[:i], s[i+1:]
}

// withoutBrackets returns s without its IPv6 addresses in brackets, for counting colons.
func withoutBrackets(s string) string {
	for range 2 { // no form has more
		open := strings.IndexByte(s, '[')
		if open < 0 {
			break
		}
		end := strings.IndexByte(s[open:], ']')
		if end < 0 {
			break
		}
		if _, err := netip.ParseAddr(s[open+1 : open+end]); err != nil {
			break
		}
		s = s[:open] + s[open+end+1:]
	}
	return s
}

// bareIPv6 reports whether s begins with an IPv6 address without brackets, or has one before its last colon.
func bareIPv6(s string) bool {
	const longest = 45 // with an IPv4 address at its end
	for i := 2; i <= min(len(s), longest); i++ {
		if i == len(s) || s[i] == ':' {
			if a, err := netip.ParseAddr(s[:i]); err == nil && a.Is6() {
				return true
			}
		}
	}
	before, last := cutLast(s)
	if _, ok := readPort(last); !ok {
		return false
	}
	for i := len(before) - 2; i >= max(0, len(before)-longest); i-- {
		if i == 0 || before[i-1] == ':' {
			if a, err := netip.ParseAddr(before[i:]); err == nil && a.Is6() {
				return true
			}
		}
	}
	return false
}

func readPort(s string) (int, bool) {
	if s == "" || s[0] < '1' || s[0] > '9' || strings.Trim(s, "0123456789") != "" { // ParseUint takes leading zeros
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 16)
	return int(n), err == nil
}

// isHost reports whether s can be a host in a line where only its form tells which part it is.
func isHost(s string) bool {
	bare := unbracket(s)
	if a, err := netip.ParseAddr(bare); err == nil {
		return a.Zone() == "" && a.Is6() == (bare != s)
	}
	if len(s) > maxHost || hostFault(s) != "" {
		return false
	}
	labels := strings.Split(strings.TrimSuffix(asciiHost(s), "."), ".")
	for _, l := range labels {
		if strings.HasPrefix(l, "-") || strings.HasSuffix(l, "-") {
			return false
		}
	}
	last := labels[len(labels)-1]
	if digits, hex := strings.CutPrefix(last, "0x"); hex {
		return strings.Trim(digits, "0123456789abcdef") != ""
	}
	return strings.Trim(last, "0123456789") != ""
}
