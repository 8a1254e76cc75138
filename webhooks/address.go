package webhooks

import (
	"cmp"
	"net/netip"
	"net/url"
	"strings"

	"warren/proxy"
)

// maxURL is how many bytes an address may have.
const maxURL = 2048

// privateAddress tells how to reach this machine and private networks.
const privateAddress = "The address is of this machine or of a private network, which webhooks do not reach. Choose a public one, or " +
	"start the server with --webhook-allow-private=yes."

// CheckURL returns what is wrong with the address of an endpoint, and what to do; "" for a good one. Where a name leads is judged when
// it is dialled.
func (s *Sender) CheckURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case len(text) > maxURL:
		return "Shorten the address to at most 2,048 bytes."
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Opaque != "":
		return "Enter a whole address, such as https://example.com/hook."
	case u.Scheme != "https" && u.Scheme != "http":
		return "The address must begin with https:// or http://."
	case u.User != nil:
		return "Remove the user name and the password from the address. The endpoint knows the sender by the signature."
	case u.Fragment != "":
		return "Remove # and what follows: it is sent to no server."
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	switch host := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")); {
	case proxy.IsDebugHost(host):
		return "Addresses in 127.77.0.0/16 are reserved for Warren. Enter another one."
	case s.cfg.Own.Leads(host, port):
		return "This is the server's own address. Enter another one."
	case !s.cfg.Policy.AllowPrivate && isPrivate(host):
		return privateAddress
	}
	return ""
}

// isPrivate reports whether a host is clearly of this machine or of a private network.
func isPrivate(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && (!a.Unmap().IsGlobalUnicast() || a.Unmap().IsPrivate())
}
