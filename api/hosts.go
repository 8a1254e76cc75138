package api

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"warren/problem"
)

// Checks Host and Origin: the protection against DNS rebinding and requests from other sites' pages. It finds out how a client reached
// this server: directly or through a reverse proxy. X-Forwarded headers count only from the addresses of --behind-proxy.

func foreignHost() *problem.Error {
	return problem.New(problem.Misdirected, "host_not_allowed",
		"This server does not answer to the host name of the request. Use the address that it printed, or start it with --allow-host NAME.")
}

// initHosts sets the accepted Host and Origin values, and returns the server's own address.
func (s *API) initHosts(addr net.Addr) (base string) {
	scheme := "http"
	if s.cfg.TLS != nil {
		scheme = "https"
	}
	host, port, _ := net.SplitHostPort(addr.String())
	defaultPort := slices.Contains([]string{"http:80", "https:443"}, scheme+":"+port) // browsers omit it in Host and Origin
	names := []string{"127.0.0.1", "localhost", "[::1]"}
	if named, _, err := net.SplitHostPort(s.cfg.Listen); err == nil && named != "" && named != "0.0.0.0" && named != "::" {
		names = append(names, strings.Trim(net.JoinHostPort(named, ""), ":"))
	}
	names = append(names, s.cfg.AllowHost...)
	s.hosts, s.origins = map[string]bool{}, map[string]bool{}
	for _, name := range names {
		name = strings.ToLower(name)
		forms := []string{name + ":" + port}
		if defaultPort || slices.ContainsFunc(s.cfg.AllowHost, func(h string) bool { return strings.EqualFold(h, name) }) {
			forms = append(forms, name)
		}
		for _, h := range forms {
			s.hosts[h] = true
			s.origins[scheme+"://"+h] = true
			if len(s.cfg.BehindProxy) > 0 {
				s.origins["https://"+h] = true
			}
		}
	}
	if host == "::" || host == "0.0.0.0" {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// isHostAllowed reports whether Host and X-Forwarded-Host name this server. Both are checked: a page under a foreign name may reach
// the server through the reverse proxy's address and send any header. A server that has passed the request on has checked them.
func (s *API) isHostAllowed(r *http.Request) bool {
	if requestOf(r.Context()).peer != "" {
		return true
	}
	if !s.hosts[strings.ToLower(r.Host)] {
		return false
	}
	named := r.Header["X-Forwarded-Host"]
	if len(named) == 0 || len(s.cfg.BehindProxy) == 0 || !s.trustedPeer(r) {
		return true
	}
	return len(named) == 1 && s.hosts[strings.ToLower(named[0])]
}

// checkOrigin refuses requests that pages of other sites send. Browsers name the page in Origin, and its relation to this server in
// Sec-Fetch-Site (Fetch Metadata, W3C). Programs send neither. A server that has passed the request on has checked them.
func (s *API) checkOrigin(r *http.Request) error {
	if requestOf(r.Context()).peer != "" || r.Header.Get("Upgrade") == "" && (isRead(r) ||
		r.Method == http.MethodOptions) {
		return nil
	}
	site := r.Header.Get("Sec-Fetch-Site")
	origins := r.Header["Origin"]
	if site == "cross-site" || site == "same-site" || len(origins) > 1 || len(origins) == 1 && !s.origins[strings.ToLower(origins[0])] {
		return foreignOrigin()
	}
	return nil
}

func foreignOrigin() *problem.Error {
	return problem.New(problem.Forbidden, "origin_not_allowed",
		"A page of another site sent this request. Warren takes requests from its own page and from programs.")
}

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
		host = cmp.Or(r.Header.Get("X-Forwarded-Host"), host)
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
	if prefix := strings.TrimSuffix(values[0], "/"); cleanPrefix.MatchString(prefix) {
		return prefix
	}
	return ""
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
	return slices.ContainsFunc(s.cfg.BehindProxy, func(p netip.Prefix) bool { return p.Contains(a) })
}
