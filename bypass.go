package main

import (
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"warren/proxy"
	"warren/shim"
	"warren/store"
)

// What pages of a run reach beside its proxy: the services that allowLocal names, and ports of this machine by localhostVia.

// isOwn says whether a target is the address that this server listens on.
func (rs *runs) isOwn(target string) bool {
	host, port, err := net.SplitHostPort(target)
	return err == nil && rs.cfg.Own.Is(host, port)
}

// localBypasses are the services that the profile's pages may reach. What the server does not allow any more is left out, and told.
func (rs *runs) localBypasses(row store.Profile) (out []shim.Bypass, warnings []warningJSON, err error) {
	var targets []string
	if err := json.Unmarshal([]byte(row.AllowLocal), &targets); err != nil {
		return nil, nil, err
	}
	var closed []string
	for _, target := range targets {
		v, err := proxy.LocalBypass(target)
		if err != nil || !rs.cfg.AllowPrivate || rs.isOwn(target) {
			closed = append(closed, target)
			continue
		}
		out = append(out, v)
	}
	if len(closed) > 0 {
		warnings = append(warnings, warningJSON{"allow_local_refused", "This server lets no page reach " + strings.Join(closed, ", ") + ", which allowLocal names."})
	}
	return out, warnings, nil
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

// viaBypasses are the ways to this machine that the profile's localhostVia makes. What the server does not allow any more is left out, and
// told; so is which name of the internet is not reached any more.
func (rs *runs) viaBypasses(row store.Profile) (out []shim.Bypass, warnings []warningJSON) {
	var closed, public []string
	for _, entry := range stringsOf(row.LocalhostVia) {
		name, port, ok := viaOf(entry)
		if !ok || !rs.cfg.AllowPrivate || port == rs.cfg.Own.Port {
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
