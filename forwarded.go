package main

import (
	"net/http"
	"regexp"
	"strings"
)

// This file says how a client reached this server: directly, or through a reverse proxy, whose word counts only from --behind-proxy.

// baseOf is what the client's addresses of this server begin with: scheme://host, and the path that a reverse proxy has it under.
func (s *server) baseOf(r *http.Request) string {
	scheme, host, prefix := "http", r.Host, ""
	if r.TLS != nil {
		scheme = "https"
	}
	if len(s.cfg.proxies) > 0 && s.trustedPeer(r) {
		switch strings.ToLower(r.Header.Get("X-Forwarded-Proto")) {
		case "https", "wss": // as some name it for a WebSocket
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

// forwardedPrefix is the path that a reverse proxy has cut off. One that is no plain path is as none: a client may have sent it, and it
// goes into answers.
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

// mayNameHost says whether the host names of the request are this server's: its Host, and what a reverse proxy says that it was
// before. Both are looked at, since a page under a name of its own may reach us through the proxy's address and send any header.
func (s *server) mayNameHost(r *http.Request) bool {
	if !s.hosts[strings.ToLower(r.Host)] {
		return false
	}
	named := r.Header["X-Forwarded-Host"]
	if len(named) == 0 || len(s.cfg.proxies) == 0 || !s.trustedPeer(r) {
		return true
	}
	return len(named) == 1 && s.hosts[strings.ToLower(named[0])]
}
