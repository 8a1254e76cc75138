package proxy

import (
	"errors"
	"net"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/idna"
)

// Rules of which hosts may be reached. A rule is one of these, each with an optional ":port":
//
//   - A name matches itself and every name below it. In a label "*" matches any characters of that label, or none.
//     A label that is "*" matches any one label.
//     So "*.example.com" matches every name below example.com and not that itself.
//     "cdn-*.example.com" matches cdn-1.example.com and what is below it. "shop.*" matches shop.com and not shop.co.uk.
//   - An address in any spelling, or a prefix of addresses: "192.0.2.1", "192.0.2.0/24", "2001:db8::/32", "[2001:db8::/32]:443".
//   - "*" alone matches every name and every address.
//
// A name is matched by the rules for names, an address by those for addresses, as the client asked for it.
// The addresses of a name do not count, since only the upstream knows them.

// maxRule is the longest rule in bytes.
const maxRule = 253

// rule is a parsed rule.
type rule struct {
	any    bool         // "*"
	name   string       // lower case, ASCII, without a final dot
	prefix netip.Prefix // of a single address: all its bits
	port   string       // decimal; "" means any
}

// String returns the canonical spelling of the rule.
func (r rule) String() string {
	host := r.name
	switch {
	case r.any:
		host = "*"
	case r.prefix.IsValid() && r.prefix.IsSingleIP():
		host = r.prefix.Addr().String()
	case r.prefix.IsValid():
		host = r.prefix.String()
	}
	if r.port == "" {
		return host
	}
	return net.JoinHostPort(host, r.port)
}

// NormalizeRule returns the canonical spelling of a rule. The error is a sentence for people.
func NormalizeRule(s string) (string, error) {
	r, err := parseRule(s)
	if err != nil {
		return "", err
	}
	return r.String(), nil
}

func parseRule(s string) (r rule, err error) {
	if s == "" || len(s) > maxRule {
		return r, Sentence("Enter a rule of 1 to 253 bytes.")
	}
	host, port, err := splitRule(s)
	if err != nil {
		return r, err
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return r, Sentence(badPort)
		}
		r.port = strconv.FormatUint(n, 10)
	}
	for strings.Contains(host, "**") {
		host = strings.ReplaceAll(host, "**", "*")
	}
	if host == "*" {
		r.any = true
		return r, nil
	}
	if strings.Contains(host, "/") {
		r.prefix, err = parsePrefix(host)
		return r, err
	}
	if a, err := netip.ParseAddr(canonicalHost(host)); err == nil {
		if a.Zone() != "" {
			return r, Sentence("Remove the zone from the address: % and what follows.")
		}
		r.prefix = netip.PrefixFrom(a, a.BitLen())
		return r, nil
	}
	r.name, err = ruleName(host)
	return r, err
}

// splitRule splits a rule into host and port. With a port, an IPv6 address needs brackets.
func splitRule(s string) (host, port string, err error) {
	if inside, ok := strings.CutPrefix(s, "["); ok {
		host, rest, ok := strings.Cut(inside, "]")
		if a, _, _ := strings.Cut(host, "/"); !ok || !strings.Contains(a, ":") {
			return "", "", Sentence("Put brackets around IPv6 addresses and prefixes only.")
		}
		if port, ok = strings.CutPrefix(rest, ":"); rest != "" && (!ok || port == "") {
			return "", "", Sentence("Write only a port behind the brackets, as in [2001:db8::1]:443.")
		}
		return host, port, nil
	}
	switch strings.Count(s, ":") {
	case 0:
		return s, "", nil
	case 1:
		host, port, _ = strings.Cut(s, ":")
		if port == "" || strings.HasPrefix(port, "//") {
			return "", "", Sentence("Enter the host alone, without https:// and path. A port is a number, as in example.com:443.")
		}
		return host, port, nil
	}
	if strings.Contains(s, "://") {
		return "", "", Sentence("Enter the host alone, without https:// and path.")
	}
	return s, "", nil
}

func parsePrefix(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	if err == nil && p.Addr().Is4In6() {
		if p.Bits() < 96 {
			return p, Sentence("A prefix of mapped addresses has at least 96 bits.")
		}
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	if err != nil {
		return p, Sentence("Enter the host alone, or a prefix of addresses such as 192.0.2.0/24.")
	}
	return p.Masked(), nil
}

// ruleName returns the canonical spelling of a name with or without "*".
func ruleName(s string) (string, error) {
	s = strings.TrimSuffix(s, ".")
	labels := []string{s}
	if strings.Contains(s, "*") {
		labels = strings.Split(s, ".")
	}
	for i, label := range labels {
		switch {
		case isASCII(label):
			labels[i] = strings.ToLower(label)
			continue
		case strings.Contains(label, "*"):
			return "", Sentence("Write a part of a name that has a * in ASCII (xn--…).")
		}
		ascii, err := idna.Lookup.ToASCII(label)
		if err != nil || len(labels) > 1 && strings.Contains(ascii, ".") {
			return "", Sentence("This name cannot be looked up. Check its spelling.")
		}
		labels[i] = strings.TrimSuffix(ascii, ".")
	}
	name := strings.Join(labels, ".")
	if !isHostName(strings.ReplaceAll(name, "*", "a")) || len(name) > maxRule || strings.HasSuffix(name, ".") {
		return "", Sentence("Enter a host name, an address or a prefix of addresses. A port may follow.")
	}
	if _, err := netip.ParseAddr(canonicalHost(name)); err == nil { // full-width digits
		return "", Sentence("Write the address in plain digits.")
	}
	if endsInNumber(name) || strings.Trim(name, "0123456789.*") == "" {
		return "", Sentence("This is no name and no address. Write a range of addresses as a prefix such as 192.0.2.0/24.")
	}
	return name, nil
}

// Rules decide which targets may be reached: none that the deny list matches, and if the allow list is not empty, only those that it
// matches. The nil Rules refuse nothing.
type Rules struct{ allow, deny *matcher }

// NewRules compiles the lists. Two empty lists give nil Rules. The error is that of NormalizeRule.
func NewRules(allow, deny []string) (*Rules, error) {
	if len(allow)+len(deny) == 0 {
		return nil, nil
	}
	a, err := newMatcher(allow)
	if err != nil {
		return nil, err
	}
	d, err := newMatcher(deny)
	return &Rules{a, d}, err
}

// refuses reports whether the target must not be reached. An IPv6 address that carries IPv4 addresses is denied by any of them, and
// allowed only as it stands.
func (r *Rules) refuses(t target) bool {
	if r == nil {
		return false
	}
	if r.allow != nil && !r.allow.matches(t, []netip.Addr{t.addr}) {
		return true
	}
	if r.deny == nil {
		return false
	}
	all := []netip.Addr{t.addr}
	if t.addr.IsValid() {
		all = addressForms(t.addr)
	}
	return r.deny.matches(t, all)
}

// errRefusedByRules is the cause of a refusal by Rules, which is expected and not reported as a failure.
var errRefusedByRules = errors.New("against the rules")

// checkRules records the tunnel's target, and refuses one that is against the rules. An unreadable target is left to the dial to refuse.
func (t *tunnel) checkRules(address string) *Error {
	target, fault := parseTarget(address)
	if fault != nil {
		return nil
	}
	t.mu.Lock()
	t.target = target
	t.mu.Unlock()
	log := t.relay.hosts.Load()
	t.host = log.record(target.host, time.Now())
	if !t.relay.rules.Load().refuses(target) { // t.target is set before, so that SetRules finds it from now on
		return nil
	}
	t.relay.stats.byRules.Add(1)
	log.recordRefusal(t.host)
	return &Error{StageRequest, BlockedAddress, "the rules refuse this host", errRefusedByRules}
}

// enforce resets the tunnel when its target is against the rules, and cancels a dial that runs. It reports whether the tunnel was open.
func (t *tunnel) enforce(rules *Rules) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.target.host == "" || !rules.refuses(t.target) {
		return false
	}
	open := t.upstream != nil
	if open {
		resetOnClose(t.client, t.upstream)
	} else if t.cancelDial != nil {
		t.cancelDial()
	}
	t.closeLocked()
	return open
}

// matcher matches a list of rules by look-ups in maps. Its time depends on the rules with "*" above one name, not on the number of rules.
type matcher struct {
	any      ports
	names    map[string]ports
	wild     map[string][]wildcard // by the labels behind the last one with "*"
	prefixes map[netip.Prefix]ports
	bits     map[bool][]int // lengths of the prefixes; true means IPv4
}

// wildcard is the labels of a name up to the last one with "*".
type wildcard struct {
	labels []string
	ports  ports
}

// ports are the ports of rules for one host; "" matches any port.
type ports []string

func (p ports) has(port string) bool {
	return slices.ContainsFunc(p, func(v string) bool { return v == "" || v == port })
}

func newMatcher(list []string) (*matcher, error) {
	if len(list) == 0 {
		return nil, nil
	}
	m := &matcher{names: map[string]ports{}, wild: map[string][]wildcard{}, prefixes: map[netip.Prefix]ports{}, bits: map[bool][]int{}}
	for _, s := range list {
		r, err := parseRule(s)
		if err != nil {
			return nil, err
		}
		m.add(r)
	}
	return m, nil
}

func (m *matcher) add(r rule) {
	switch {
	case r.any:
		m.any = append(m.any, r.port)
	case r.prefix.IsValid():
		is4 := r.prefix.Addr().Is4()
		m.prefixes[r.prefix] = append(m.prefixes[r.prefix], r.port)
		if !slices.Contains(m.bits[is4], r.prefix.Bits()) {
			m.bits[is4] = append(m.bits[is4], r.prefix.Bits())
		}
	case strings.Contains(r.name, "*"):
		star := strings.LastIndexByte(r.name, '*')
		head, tail := r.name, ""
		if dot := strings.IndexByte(r.name[star:], '.'); dot >= 0 {
			head, tail = r.name[:star+dot], r.name[star+dot+1:]
		}
		m.wild[tail] = append(m.wild[tail], wildcard{strings.Split(head, "."), ports{r.port}})
	default:
		m.names[r.name] = append(m.names[r.name], r.port)
	}
}

// matches reports whether a rule matches the target. addrs are the addresses to match when the target is no name.
func (m *matcher) matches(t target, addrs []netip.Addr) bool {
	if m.any.has(t.port) {
		return true
	}
	if t.addr.IsValid() {
		return slices.ContainsFunc(addrs, func(a netip.Addr) bool { return m.matchesAddr(a, t.port) })
	}
	for head, tail := "", t.host; ; {
		if m.names[tail].has(t.port) || m.matchesWild(head, tail, t.port) {
			return true
		}
		label, rest, more := strings.Cut(tail, ".")
		if head != "" {
			head += "."
		}
		if head += label; !more {
			return m.matchesWild(head, "", t.port)
		}
		tail = rest
	}
}

// matchesWild reports whether a rule with "*" matches the name head + "." + tail, where tail is the part behind its last "*" label.
func (m *matcher) matchesWild(head, tail, port string) bool {
	list := m.wild[tail]
	if len(list) == 0 || head == "" {
		return false
	}
	labels := strings.Split(head, ".")
	return slices.ContainsFunc(list, func(w wildcard) bool {
		if len(labels) < len(w.labels) || !w.ports.has(port) {
			return false
		}
		for i, label := range labels[len(labels)-len(w.labels):] {
			if ok, _ := path.Match(w.labels[i], label); !ok { // a label has no other character that Match treats specially
				return false
			}
		}
		return true
	})
}

func (m *matcher) matchesAddr(a netip.Addr, port string) bool {
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(m.bits[a.Is4()], func(bits int) bool {
		p, err := a.Prefix(bits)
		return err == nil && m.prefixes[p].has(port)
	})
}
