// Package proxy parses, dials and checks proxy servers, and relays a browser's connections to its upstream.
//
// The relay and the checks share one Dialer, so they cannot disagree about what works. One Policy decides what may be reached.
// When an upstream fails, nothing is dialled directly.
package proxy

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
)

// Type is the protocol that a proxy server speaks.
type Type string

// The types. Names are sent to all of them unresolved, so that the upstream resolves them.
const (
	SOCKS5 Type = "socks5" // RFC 1928, RFC 1929
	HTTP   Type = "http"   // CONNECT, RFC 9110 section 9.3.6
	HTTPS  Type = "https"  // TLS to the proxy, then CONNECT
	SOCKS4 Type = "socks4" // SOCKS4 for addresses, SOCKS4a for names; has a user name and no password
)

// ParseType reads a type or one of its synonyms, in any case. It returns false for anything else.
func ParseType(s string) (Type, bool) {
	switch strings.ToLower(s) {
	case "socks5", "socks5h", "socks":
		return SOCKS5, true
	case "http":
		return HTTP, true
	case "https":
		return HTTPS, true
	case "socks4", "socks4a":
		return SOCKS4, true
	}
	return "", false
}

// Proxy is one proxy server with its credentials. The password is never printed, logged or marshalled. URL is the only way to get it
// as text.
type Proxy struct {
	Type     Type
	Host     string // a name, an IPv4 address, or an IPv6 address (brackets are taken off by Normalize)
	Port     int
	Username string // "" means none
	Password string // "" means none
}

// Address returns "host:port" for net.Dial, with brackets around an IPv6 address.
func (p Proxy) Address() string {
	return net.JoinHostPort(unbracket(p.Host), strconv.Itoa(p.Port))
}

// URL returns the proxy with its password, such that Parse returns the same Proxy. It is for other processes of this program and for an
// operator who asks for the secret. It must not be logged.
func (p Proxy) URL() string {
	return p.format(percentEncode(p.Password))
}

// String returns the proxy as a URL with "***" for the password.
func (p Proxy) String() string {
	if p.Password == "" {
		return p.format("")
	}
	return p.format("***")
}

func (p Proxy) format(password string) string {
	var b strings.Builder
	b.WriteString(string(p.Type) + "://")
	if p.Username != "" || password != "" {
		b.WriteString(percentEncode(p.Username))
		if password != "" {
			b.WriteString(":" + password)
		}
		b.WriteByte('@')
	}
	b.WriteString(p.Address())
	return b.String()
}

// Format implements fmt.Formatter, so that no verb prints the fields.
func (p Proxy) Format(s fmt.State, _ rune) { io.WriteString(s, p.String()) }

// GoString implements fmt.GoStringer for direct callers; fmt uses Format.
func (p Proxy) GoString() string { return p.String() }

// LogValue implements slog.LogValuer.
func (p Proxy) LogValue() slog.Value { return slog.StringValue(p.String()) }

// MarshalJSON encodes all fields but the password, and hasPassword. By design it does not round-trip.
func (p Proxy) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type        Type   `json:"type"`
		Host        string `json:"host"`
		Port        int    `json:"port"`
		Username    string `json:"username,omitempty"`
		HasPassword bool   `json:"hasPassword"`
	}{p.Type, p.Host, p.Port, p.Username, p.Password != ""})
}
