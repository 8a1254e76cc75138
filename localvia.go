package main

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"warren/proxy"
	"warren/shim"
	"warren/store"
)

// This file is about a profile's localhostVia: ports of this machine that pages reach beside the proxy, by localhost or by a name that the
// profile makes up.

// maxVia is how many a profile may name.
const maxVia = 20

// viaList is a list of "port" or "name:port"; an integer is taken for a port too.
type viaList []string

// UnmarshalJSON takes strings and integers.
func (v *viaList) UnmarshalJSON(b []byte) error {
	var items []digits
	if err := json.Unmarshal(b, &items); err != nil {
		return err
	}
	*v = make(viaList, len(items))
	for i, item := range items {
		(*v)[i] = string(item)
	}
	return nil
}

// Schema takes both.
func (viaList) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Nullable: true, Items: &huma.Schema{AnyOf: []*huma.Schema{{Type: huma.TypeString}, {Type: huma.TypeInteger}}},
		Examples: []any{[]string{"3000", "app.test:3000"}}}
}

// viaOf reads an entry: the name is "" for localhost in every spelling.
func viaOf(entry string) (name, port string, ok bool) {
	rule, err := proxy.NormalizeRule(entry)
	if n, bad := strconv.Atoi(entry); bad == nil { // a number alone is a port, and would be an address as a rule
		return "", strconv.Itoa(n), n >= 1 && n <= 65535
	}
	name, port, bad := net.SplitHostPort(rule)
	if err != nil || bad != nil || strings.ContainsAny(name, "*/:") || proxy.IsAddress(name) || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return "", "", false
	}
	return name, port, true
}

// checkVia normalises the entries and notes what is wrong with them.
func (in *profileInput) checkVia(s *server, f *faults) {
	entries := in.LocalhostVia.Value
	if !in.LocalhostVia.given() || len(entries) == 0 {
		return
	}
	if !s.cfg.allowPrivate() {
		f.add("body.localhostVia", "is refused: this server lets profiles reach no private network, nor this machine (--allow-private)", nil)
	}
	if len(entries) > maxVia {
		f.add("body.localhostVia", fmt.Sprintf("must have at most %d entries; it has %d", maxVia, len(entries)), nil)
	}
	normal := viaList{}
	for i, entry := range entries {
		name, port, ok := viaOf(entry)
		if name != "" {
			port = name + ":" + port
		}
		switch {
		case !ok:
			f.add(fmt.Sprintf("body.localhostVia[%d]", i), "must be a port of this machine such as 3000, or a name and a port such as app.test:3000 (localhost is meant by the port alone)", cut(entry))
		case strings.TrimPrefix(port, name+":") == s.port:
			f.add(fmt.Sprintf("body.localhostVia[%d]", i), "is this server's own port, which no page may reach", cut(entry))
		case !slices.Contains(normal, port):
			normal = append(normal, port)
		}
	}
	in.LocalhostVia.Value = normal
}

// viaDetours are the ways to this machine that the profile's localhostVia makes. What the server does not allow any more is left out, and
// told; so is which name of the internet is not reached any more.
func (s *server) viaDetours(row store.Profile) (out []shim.Bypass, warnings []warningJSON) {
	var closed, public []string
	for _, entry := range stringsOf(row.LocalhostVia) {
		name, port, ok := viaOf(entry)
		if !ok || !s.cfg.allowPrivate() || port == s.port {
			closed = append(closed, entry)
			continue
		}
		here := net.JoinHostPort("localhost", port)
		if name != "" {
			out = append(out, shim.Bypass{Host: name, Port: port, Address: here})
			if !isReserved(name) {
				public = append(public, entry)
			}
			continue
		}
		for host, address := range map[string]string{"localhost": here, ".localhost": here, "127.0.0.1": net.JoinHostPort("127.0.0.1", port), "::1": net.JoinHostPort("::1", port)} {
			out = append(out, shim.Bypass{Host: host, Port: port, Address: address})
		}
	}
	if len(closed) > 0 {
		warnings = append(warnings, warningJSON{"localhost_via_refused", "This server lets no page reach " + strings.Join(closed, ", ") + ", which localhostVia names."})
	}
	if len(public) > 0 {
		warnings = append(warnings, warningJSON{"localhost_via", "Pages reach this machine, and not the site of that name, at " + strings.Join(public, ", ") + ", as localhostVia says."})
	}
	return out, warnings
}

// isReserved says whether nobody has the name in the internet (RFC 6761, RFC 6762, RFC 8375, and .internal).
func isReserved(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	return last == name || slices.Contains([]string{"test", "localhost", "example", "invalid", "local", "internal"}, last) || strings.HasSuffix(name, "home.arpa")
}
