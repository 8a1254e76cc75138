package api

import (
	"net/http"
	"net/netip"
	"regexp"
	"strings"
)

// Finds out how a client reached this server: directly or through a reverse proxy. X-Forwarded headers count only from the addresses
// of --behind-proxy.

// baseOf returns the prefix of this server's addresses as the client sees them: scheme://host and the reverse proxy's path prefix.
func (s *API) baseOf(r *http.Request) string {
	scheme, host, prefix := "http", r.Host, ""
	if r.TLS != nil {
		scheme = "https"
	}
	if len(s.cfg.BehindProxy) > 0 && s.trustedPeer(r) {
		switch strings.ToLower(r.Header.Get("X-Forwarded-Proto")) {
		case "https", "wss": // some proxies send these for a WebSocket
			scheme = "https"
		case "http", "ws":
			scheme = "http"
		}
		if named := r.Header.Get("X-Forwarded-Host"); named != "" {
			host = named
		}
		prefix = forwardedPrefix(r)
	}
	return scheme + "://" + host + prefix
}

var cleanPrefix = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)

// forwardedPrefix returns the path prefix that a reverse proxy has removed. A value that is no plain path is ignored: a client may
// have sent it, and it appears in answers.
func forwardedPrefix(r *http.Request) string {
	values := r.Header["X-Forwarded-Prefix"]
	if len(values) != 1 || len(values[0]) > 200 {
		return ""
	}
	prefix := strings.TrimSuffix(values[0], "/")
	if !cleanPrefix.MatchString(prefix) {
		return ""
	}
	return prefix
}

// clientIP returns the client's address without its zone, or an empty string. X-Forwarded-For is read from the right, and only from
// trusted proxies: the last address that is none of them counts.
func (s *API) clientIP(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	addr := peer.Addr().Unmap().WithZone("")
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && s.trusted(addr); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		addr = next.Unmap()
	}
	return addr.String()
}

func (s *API) trustedPeer(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && s.trusted(peer.Addr().Unmap())
}

func (s *API) trusted(a netip.Addr) bool {
	for _, p := range s.cfg.BehindProxy {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
