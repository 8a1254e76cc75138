package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/icholy/digest"
)

// Authenticates at HTTP proxies: with Basic (RFC 7617) unasked, and with Digest (RFC 7616) where the proxy asks for it.
// A nonce is used again with the next count as long as the proxy accepts it.

// authChallenge is an HTTP proxy's demand for a login. It is the cause of a fault.
type authChallenge struct {
	status      int
	digest      *digest.Challenge // nil when no Digest challenge can be answered
	unsupported string            // the scheme it asks for, when none of its schemes is supported
}

func (d *authChallenge) Error() string { return fmt.Sprintf("HTTP status %d", d.status) }

// digestProof is one answer to a Digest challenge. No two answers to a nonce have the same count.
type digestProof struct {
	challenge *digest.Challenge
	count     int
}

// parseAuthChallenge reads the challenges in the head of an answer with status 407 or 401.
func parseAuthChallenge(status int, head []byte) *authChallenge {
	_, rest, _ := bytes.Cut(head, []byte("\n"))
	lines, _ := textproto.NewReader(bufio.NewReader(bytes.NewReader(rest))).ReadMIMEHeader() // lines that can be read count
	return authChallengeIn(status, http.Header(lines))
}

func authChallengeIn(status int, h http.Header) *authChallenge {
	d := &authChallenge{status: status}
	values := h.Values("Proxy-Authenticate")
	if len(values) == 0 {
		values = h.Values("Www-Authenticate")
	}
	d.parse(values)
	return d
}

func (d *authChallenge) parse(values []string) {
	basic := false
	for _, text := range challenges(values) {
		scheme, _, _ := strings.Cut(text, " ")
		c := digestOf(text)
		switch {
		case strings.EqualFold(scheme, "Basic"):
			basic = true
		case c != nil && (d.digest == nil || strings.HasPrefix(strings.ToUpper(c.Algorithm), "SHA")):
			d.digest = c
		case c == nil && d.unsupported == "":
			d.unsupported = schemeName(scheme)
		}
	}
	if basic || d.digest != nil {
		d.unsupported = ""
	}
}

// fault returns what the challenge means for a request with or without credentials.
func (d *authChallenge) fault(credentials bool) *Error {
	switch {
	case d.unsupported != "":
		message := "the proxy wants a login by " + d.unsupported + ", which is not spoken here: Basic and Digest are"
		return &Error{StageAuth, AuthUnsupported, message, d}
	case credentials:
		return &Error{StageAuth, AuthFailed, "the proxy does not take this user name and password", d}
	}
	return &Error{StageAuth, AuthRequired, "the proxy wants a user name and a password", d}
}

// schemeName returns the name of a scheme for a message. A scheme that is not registered with IANA is not repeated.
func schemeName(scheme string) string {
	for _, known := range []string{"Negotiate", "NTLM", "Kerberos", "Bearer", "Digest", "Mutual", "HOBA", "SCRAM-SHA-1", "SCRAM-SHA-256",
		"OAuth", "DPoP", "GNAP", "PrivateToken", "Concealed", "vapid"} {
		if strings.EqualFold(known, scheme) && known == "Digest" {
			return "Digest of a kind (algorithm or qop)"
		}
		if strings.EqualFold(known, scheme) {
			return known
		}
	}
	return "a scheme of its own"
}

// challenges splits the values of Proxy-Authenticate into one text per challenge. Commas separate both the challenges of a field and
// the parameters of a challenge (RFC 9110 section 11.6.1).
func challenges(values []string) (out []string) {
	for _, v := range values {
		for i, item := range splitUnquoted(v) {
			scheme, _, _ := strings.Cut(item, " ")
			_, rest, _ := strings.Cut(item, "=")
			afterScheme := strings.TrimSpace(strings.TrimPrefix(item, scheme))
			parameter := strings.Contains(scheme, "=") || strings.HasPrefix(afterScheme, "=") && rest != ""
			if i == 0 || !parameter {
				out = append(out, item)
			} else {
				out[len(out)-1] += ", " + item
			}
		}
	}
	return out
}

// splitUnquoted splits at the commas outside quoted strings.
func splitUnquoted(s string) (out []string) {
	quoted, escaped := false, false
	items := strings.FieldsFunc(s, func(r rune) bool {
		was := escaped
		escaped = quoted && r == '\\' && !was
		if r == '"' && !was {
			quoted = !quoted
		}
		return r == ',' && !quoted
	})
	for _, item := range items {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// sessSuffix ends the names of algorithms that derive a new key for each nonce (RFC 7616 section 3.4.2).
const sessSuffix = "-sess"

// digestOf parses a Digest challenge. It returns nil for one that cannot be answered.
func digestOf(text string) *digest.Challenge {
	c, err := digest.ParseChallenge(text)
	if err != nil || c.Nonce == "" {
		return nil
	}
	for i, q := range c.QOP {
		c.QOP[i] = strings.ToLower(strings.TrimSpace(q))
	}
	if len(c.QOP) > 0 && !slices.Contains(c.QOP, "auth") {
		return nil // auth-int needs the whole body before its first byte is sent
	}
	if len(c.QOP) > 0 {
		c.QOP = []string{"auth"}
	}
	plain := *c
	plain.Algorithm = withoutSession(c.Algorithm)
	if !digest.CanDigest(&plain) || plain.Algorithm != c.Algorithm && hashOf(plain.Algorithm, "") == "" {
		return nil
	}
	return c
}

func withoutSession(algorithm string) string {
	if n := len(algorithm) - len(sessSuffix); n > 0 && strings.EqualFold(algorithm[n:], sessSuffix) {
		return algorithm[:n]
	}
	return algorithm
}

// hashOf returns the hex hash by an algorithm that may have sessions, or "" for another algorithm.
func hashOf(algorithm, text string) string {
	switch strings.ToUpper(algorithm) {
	case "MD5":
		return fmt.Sprintf("%x", md5.Sum([]byte(text)))
	case "SHA-256":
		return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	}
	return ""
}

// credentials returns the value of Proxy-Authorization for one request.
func (f *digestProof) credentials(p *Proxy, method, uri string) (string, error) {
	c := *f.challenge
	o := digest.Options{Method: method, URI: uri, Count: f.count, Username: p.Username, Password: p.Password}
	if c.Algorithm = withoutSession(c.Algorithm); c.Algorithm != f.challenge.Algorithm {
		o.Cnonce = rand.Text()
		secret := hashOf(c.Algorithm, p.Username+":"+c.Realm+":"+p.Password)
		o.A1 = hashOf(c.Algorithm, strings.Join([]string{secret, c.Nonce, o.Cnonce}, ":"))
	}
	credentials, err := digest.Digest(&c, o)
	if err != nil {
		return "", err
	}
	credentials.Algorithm = f.challenge.Algorithm
	return credentials.String(), nil
}

// authorization returns the value of Proxy-Authorization for one request, or "" without a user name. It is Basic when f is nil.
func authorization(p *Proxy, f *digestProof, method, uri string) string {
	if p.Username == "" {
		return ""
	}
	if f != nil {
		if text, err := f.credentials(p, method, uri); err == nil {
			return text
		}
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(p.Username+":"+p.Password))
}

// maxAuthAttempts bounds the attempts of one login: with a known challenge, with the proxy's new one, and again when that was stale.
const maxAuthAttempts = 3

// authenticate calls try with the Digest answer that is known, and again with a new one when the proxy asks for it.
// A new nonce is not shared before it has worked, so that others' counts cannot overtake it.
func (d *Dialer) authenticate(p *Proxy, try func(*digestProof) *Error) *Error {
	known := &d.caches().handshakes
	use, fresh := known.nextDigest(p), false
	for n := 1; ; n++ {
		fault := try(use)
		want, ok := authChallengeOf(fault)
		switch {
		case fault == nil:
			if fresh {
				known.recordChallenge(p, use.challenge)
			}
			return nil
		case !ok || want.digest == nil || p.Username == "" || n == maxAuthAttempts || fresh && !want.digest.Stale:
			return fault
		}
		use, fresh = &digestProof{want.digest, 1}, true
	}
}

// dialHTTP opens a tunnel through an HTTP proxy. When the proxy refuses tunnels to plainPort, requests go to it in absolute form.
func (d *Dialer) dialHTTP(ctx context.Context, p *Proxy, t target, times *Timings) (net.Conn, *Error) {
	if refused := d.caches().handshakes.tunnelRefusal(p); refused != nil && t.port == plainPort {
		return d.dialAbsoluteForm(ctx, p, t, refused, times)
	}
	c, fault := d.dialCONNECT(ctx, p, t, times)
	if t.port != plainPort {
		return c, fault
	}
	if fault == nil {
		d.caches().handshakes.recordTunnel(p, nil)
	}
	if !isTunnelRefusal(fault) {
		return c, fault
	}
	c, again := d.dialAbsoluteForm(ctx, p, t, fault, times)
	if again != nil {
		return nil, again
	}
	d.caches().handshakes.recordTunnel(p, fault)
	return c, nil
}

func (d *Dialer) dialCONNECT(ctx context.Context, p *Proxy, t target, times *Timings) (c net.Conn, fault *Error) {
	fault = d.authenticate(p, func(f *digestProof) (fault *Error) {
		c, fault = d.tryOnce(ctx, p, t, &handshake{digest: f}, times)
		return fault
	})
	return c, fault
}

func authChallengeOf(fault *Error) (*authChallenge, bool) {
	return errors.AsType[*authChallenge](causeOf(fault))
}
