package runs

import (
	"net"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"warren/shim"
	"warren/store"
)

// Decides what pages of a run reach without its proxy: the services in allowLocal, and ports of this machine by
// localhostVia.

// IsOwn reports whether a target is this server's own address.
func (m *Manager) IsOwn(target string) bool {
	host, port, err := net.SplitHostPort(target)
	return err == nil && m.cfg.Own.Is(host, port)
}

// localBypasses returns the services that the profile's pages may reach. Services that the server no longer allows are
// left out, with a warning.
func (m *Manager) localBypasses(row store.Profile) (out []shim.Bypass, warnings []Warning, err error) {
	var targets []string
	if err := json.Unmarshal([]byte(row.AllowLocal), &targets); err != nil {
		return nil, nil, err
	}
	var closed []string
	for _, target := range targets {
		v, err := shim.LocalBypass(target)
		if err != nil || !m.cfg.AllowPrivate || m.IsOwn(target) {
			closed = append(closed, target)
			continue
		}
		out = append(out, v)
	}
	if len(closed) > 0 {
		warnings = append(warnings, Warning{"allow_local_refused", "This server does not allow pages to reach " +
			strings.Join(closed, ", ") + ", which allowLocal names."})
	}
	return out, warnings, nil
}

// localhostViaBypasses returns the profile's bypasses to this machine by localhostVia. Those that the server no longer
// allows are left out, with a warning. A second warning lists public names that no longer lead to the internet.
func (m *Manager) localhostViaBypasses(row store.Profile) (out []shim.Bypass, warnings []Warning) {
	var closed, public []string
	for _, entry := range StringsOf(row.LocalhostVia) {
		name, port, ok := shim.LocalhostName(entry)
		if !ok || !m.cfg.AllowPrivate || port == m.cfg.Own.Port {
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
		for host, address := range map[string]string{"localhost": here, ".localhost": here,
			"127.0.0.1": net.JoinHostPort("127.0.0.1", port), "::1": net.JoinHostPort("::1", port)} {
			out = append(out, shim.Bypass{Host: host, Port: port, Address: address})
		}
	}
	if len(closed) > 0 {
		warnings = append(warnings, Warning{"localhost_via_refused", "This server does not allow pages to reach " +
			strings.Join(closed, ", ") + ", which localhostVia names."})
	}
	if len(public) > 0 {
		warnings = append(warnings, Warning{"localhost_via", "Pages reach this machine, and not the site of that name, at " +
			strings.Join(public, ", ") + ", as localhostVia says."})
	}
	return out, warnings
}

// isReserved reports whether a name cannot exist in the public DNS (RFC 6761, RFC 6762, RFC 8375, and .internal).
func isReserved(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	return last == name || slices.Contains([]string{"test", "localhost", "example", "invalid", "local", "internal"}, last) ||
		strings.HasSuffix(name, "home.arpa")
}
