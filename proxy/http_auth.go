package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/icholy/digest"
)

// This file logs in at HTTP proxies: Basic (RFC 7617) without being asked, and Digest (RFC 7616) where the proxy asks for it. A nonce is
// used again, with the next count, for as long as the proxy takes it.

// demand is an HTTP proxy's wish for a login, the cause of a fault.
type authChallenge struct {
	status      int
	digest      *digest.Challenge // nil: none that can be met
	unsupported string            // how it wants the login, where that is in no way that is spoken here
}

func (d *authChallenge) Error() string { return fmt.Sprintf("HTTP status %d", d.status) }

// proof is one answer to a challenge. Of one nonce no two have the same count.
type digestProof struct {
	challenge *digest.Challenge
	count     int
}

// demandOf reads what a proxy that refuses the login says of it.
func parseAuthChallenge(status int, head []byte) *authChallenge {
	_, rest, _ := bytes.Cut(head, []byte("\n"))
	lines, _ := textproto.NewReader(bufio.NewReader(bytes.NewReader(rest))).ReadMIMEHeader() // what can be read counts
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

// fault says what the demand means for who came with or without a user name.
func (d *authChallenge) fault(credentials bool) *Error {
	switch {
	case d.unsupported != "":
		return &Error{StageAuth, AuthUnsupported, "the proxy wants a login by " + d.unsupported + ", which is not spoken here: Basic and Digest are", d}
	case credentials:
		return &Error{StageAuth, AuthFailed, "the proxy does not take this user name and password", d}
	}
	return &Error{StageAuth, AuthRequired, "the proxy wants a user name and a password", d}
}

// schemeName is how a scheme is named in a message. What the registry does not have is not repeated.
func schemeName(scheme string) string {
	for _, known := range []string{"Negotiate", "NTLM", "Kerberos", "Bearer", "Digest", "Mutual", "HOBA", "SCRAM-SHA-1", "SCRAM-SHA-256", "OAuth", "DPoP", "GNAP", "PrivateToken", "Concealed", "vapid"} {
		if strings.EqualFold(known, scheme) && known == "Digest" {
			return "Digest of a kind (algorithm or qop)"
		}
		if strings.EqualFold(known, scheme) {
			return known
		}
	}
	return "a scheme of its own"
}

// challenges cuts what stands in Proxy-Authenticate into one text a challenge. Commas part both the challenges of a field and the
// parameters of a challenge (RFC 9110 section 11.6.1).
func challenges(values []string) (out []string) {
	for _, v := range values {
		for i, item := range splitUnquoted(v) {
			scheme, _, _ := strings.Cut(item, " ")
			_, rest, _ := strings.Cut(item, "=")
			parameter := strings.Contains(scheme, "=") || strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(item, scheme)), "=") && rest != ""
			if i == 0 || !parameter {
				out = append(out, item)
			} else {
				out[len(out)-1] += ", " + item
			}
		}
	}
	return out
}

// splitUnquoted cuts at the commas that are in no quoted string.
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

// session is what the names of algorithms whose key is made anew for each nonce end in.
const sessSuffix = "-sess"

// digestOf reads a challenge that can be met, or gives nil.
func digestOf(text string) *digest.Challenge {
	c, err := digest.ParseChallenge(text)
	if err != nil || c.Nonce == "" {
		return nil
	}
	for i, q := range c.QOP {
		c.QOP[i] = strings.ToLower(strings.TrimSpace(q))
	}
	if len(c.QOP) > 0 && !slices.Contains(c.QOP, "auth") {
		return nil // auth-int would have to know a body before its first byte goes out
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

// hashOf hashes with one of the algorithms that may have sessions, or gives "".
func hashOf(algorithm, text string) string {
	switch strings.ToUpper(algorithm) {
	case "MD5":
		sum := md5.Sum([]byte(text))
		return hex.EncodeToString(sum[:])
	case "SHA-256":
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	return ""
}

// answer is the value of Proxy-Authorization for one request.
func (f *digestProof) credentials(p *Proxy, method, uri string) (string, error) {
	c := *f.challenge
	o := digest.Options{Method: method, URI: uri, Count: f.count, Username: p.Username, Password: p.Password}
	if c.Algorithm = withoutSession(c.Algorithm); c.Algorithm != f.challenge.Algorithm {
		o.Cnonce = rand.Text()
		o.A1 = hashOf(c.Algorithm, strings.Join([]string{hashOf(c.Algorithm, p.Username+":"+c.Realm+":"+p.Password), c.Nonce, o.Cnonce}, ":"))
	}
	credentials, err := digest.Digest(&c, o)
	if err != nil {
		return "", err
	}
	credentials.Algorithm = f.challenge.Algorithm
	return credentials.String(), nil
}

// authorization is the value of Proxy-Authorization for one request, or "". Without a proof it is Basic.
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

// loginTries is how many connections one dial makes at most for its login: with what is known, with the proxy's challenge, and once more
// when that was stale by then.
const maxAuthAttempts = 3

// logIn asks, and asks again with a proof when the proxy wants one. A fresh nonce is this dial's alone until it has worked, so that
// others' counts cannot overtake its own.
func (d *Dialer) authenticate(p *Proxy, ask func(*digestProof) *Error) *Error {
	known := d.cache()
	use, fresh := known.nextDigest(p), false
	for try := 1; ; try++ {
		fault := ask(use)
		want, ok := authChallengeOf(fault)
		switch {
		case fault == nil:
			if fresh {
				known.recordChallenge(p, use.challenge)
			}
			return nil
		case !ok || want.digest == nil || p.Username == "" || try == maxAuthAttempts || fresh && !want.digest.Stale:
			return fault
		}
		use, fresh = &digestProof{want.digest, 1}, true
	}
}

// dialHTTP asks an HTTP proxy for a tunnel. Where it gives none to the port of plain web sites, it is asked for each request.
func (d *Dialer) dialHTTP(ctx context.Context, p *Proxy, t target, times *Timings) (net.Conn, *Error) {
	if refused := d.cache().tunnelRefusal(p); refused != nil && t.port == plainPort {
		return d.dialAbsoluteForm(ctx, p, t, refused, times)
	}
	c, fault := d.dialCONNECT(ctx, p, t, times)
	if t.port != plainPort {
		return c, fault
	}
	if fault == nil {
		d.cache().recordTunnel(p, nil)
	}
	if !isTunnelRefusal(fault) {
		return c, fault
	}
	c, again := d.dialAbsoluteForm(ctx, p, t, fault, times)
	if again != nil {
		return nil, again
	}
	d.cache().recordTunnel(p, fault)
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
