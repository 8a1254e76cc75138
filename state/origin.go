package state

import (
	"net/url"
	"strconv"
	"strings"
)

const originRule = "The origin must be http or https with a host, and a port if it is not the usual one: " +
	"https://example.com or http://localhost:8080, without path, user name and capital letters."

// CheckOrigin returns an error for text that is no origin as browsers write it. The error is a sentence that says what to write.
func CheckOrigin(text string) error {
	if !isOrigin(text) {
		return broken(originRule)
	}
	return nil
}

// OriginsOf returns the origins whose hosts are of domains, or of subdomains of these. Without domains it returns all.
func OriginsOf(origins []Origin, domains []string) []Origin {
	if len(domains) == 0 {
		return origins
	}
	set := newDomainSet(domains)
	out := []Origin{}
	for _, o := range origins {
		if u, err := url.Parse(o.Origin); err == nil && set.has(u.Hostname()) {
			out = append(out, o)
		}
	}
	return out
}

// isOrigin reports whether text is an origin of a page as browsers write it: http or https, host, and a port that is not the scheme's
// own.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Scheme+"://"+u.Host != text {
		return false
	}
	host := u.Hostname()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return (isHost(strings.TrimSuffix(host, ".")) || isAddress(host)) && isPort(u.Scheme, u.Host[len(host):])
}

// isPort reports whether the end of an origin is none, or a port as browsers write one that is not the scheme's own.
func isPort(scheme, end string) bool {
	if end == "" {
		return true
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(end, ":"), 10, 16)
	return err == nil && n > 0 && end == ":"+strconv.FormatUint(n, 10) && scheme+end != "http:80" && scheme+end != "https:443"
}
