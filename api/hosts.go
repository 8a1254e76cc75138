package api

import (
	"net"
	"net/http"
	"strings"

	"warren/problem"
)

// Checks Host and Origin: the protection against DNS rebinding and requests from other sites' pages.

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
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		host = addr.String()
	}
	s.port = port
	names := []string{"127.0.0.1", "localhost", "[::1]"}
	if named, _, err := net.SplitHostPort(s.cfg.Listen); err == nil && named != "" && named != "0.0.0.0" && named != "::" {
		names = append(names, strings.Trim(net.JoinHostPort(named, ""), ":"))
	}
	names = append(names, s.cfg.AllowHost...)
	s.hosts, s.origins = map[string]bool{}, map[string]bool{}
	for _, name := range names {
		name = strings.ToLower(name)
		for _, h := range []string{name + ":" + port, name} {
			if h == name && !s.isDefaultPort(port) && !contains(s.cfg.AllowHost, name) {
				continue
			}
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

// isDefaultPort reports whether browsers omit the port in Host and Origin.
func (s *API) isDefaultPort(port string) bool {
	return s.cfg.TLS == nil && port == "80" || s.cfg.TLS != nil && port == "443"
}

// contains reports whether want is in list, whatever its case.
func contains(list []string, want string) bool {
	for _, s := range list {
		if strings.EqualFold(s, want) {
			return true
		}
	}
	return false
}

// isHostAllowed reports whether Host and X-Forwarded-Host name this server. Both are checked: a page under a foreign name may reach
// the server through the reverse proxy's address and send any header.
func (s *API) isHostAllowed(r *http.Request) bool {
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
// Sec-Fetch-Site (Fetch Metadata, W3C). Programs send neither.
func (s *API) checkOrigin(r *http.Request) error {
	upgrade := r.Header.Get("Upgrade") != ""
	if !upgrade && (r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions) {
		return nil
	}
	site := r.Header.Get("Sec-Fetch-Site")
	origins := r.Header["Origin"]
	foreign := site == "cross-site" || site == "same-site" || len(origins) > 1 ||
		len(origins) == 1 && !s.origins[strings.ToLower(origins[0])]
	if foreign {
		return foreignOrigin()
	}
	return nil
}

func foreignOrigin() *problem.Error {
	return problem.New(problem.Forbidden, "origin_not_allowed",
		"A page of another site sent this request. Warren takes requests from its own page and from programs.")
}
