package state

import (
	"net/url"
	"strconv"
	"strings"
)

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
