package state

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strings"
)

// MaxCredentials is how many passkeys a profile or a storageState may have.
const MaxCredentials = 1000

// maxKey is how long a key may be as text: twice what RSA with 4096 bits takes. maxUserName is in bytes.
const (
	maxKey      = 8 << 10
	maxUserName = 256
)

func (s *storageReader) readCredential(index int) error {
	if index == MaxCredentials {
		return s.tooMany(index, "credentials", MaxCredentials)
	}
	var c Credential
	var wrong faults
	var there [6]bool
	err := s.object(map[string]func() error{
		"id":         s.texts("id", &c.ID, &there[0], false, &wrong),
		"rpId":       s.texts("rpId", &c.RPID, &there[1], false, &wrong),
		"userHandle": s.texts("userHandle", &c.UserHandle, &there[2], false, &wrong),
		"privateKey": s.texts("privateKey", &c.PrivateKey, &there[3], false, &wrong),
		"publicKey":  s.texts("publicKey", &c.PublicKey, &there[4], false, &wrong),
		"signCount":  s.ints("signCount", 0, &c.SignCount, &wrong),
		"userName":   s.texts("userName", &c.UserName, &there[5], false, &wrong),
	}, &wrong)
	if err != nil {
		return err
	}
	if len(wrong) == 0 {
		wrong = c.faults()
	}
	if len(wrong) == 0 {
		wrong.require(isChromeKey(c.PrivateKey), "The key must be of P-256, RSA or Ed25519: Chrome takes no other.")
	}
	for _, other := range s.file.Credentials {
		wrong.require(other.ID != c.ID, "There is another credential with this id.") // Chrome has one of each
	}
	if len(wrong) > 0 {
		s.no(index, fmt.Sprintf("credentials[%d]", index), "", c.RPID, wrong.text())
		return nil
	}
	s.file.Credentials = append(s.file.Credentials, c)
	return nil
}

// faults says what is wrong with a credential. The two keys must be a pair.
func (c *Credential) faults() (f faults) {
	f.require(isHost(c.RPID), "The rpId must be a domain, such as example.com.")
	id, idErr := unpadded(&c.ID)
	f.require(idErr == nil && len(id) > 0 && len(id) <= 1023, "The id must be 1 to 1023 bytes as base64url.") // WebAuthn, 4: Credential ID
	f.require(c.SignCount <= math.MaxInt32, "The signCount must be at most 2147483647, as Chrome takes it.")
	f.require(len(c.UserName) <= maxUserName, "The userName must have at most 256 bytes.")
	user, userErr := unpadded(&c.UserHandle)
	f.require(userErr == nil && len(user) <= 64, "The userHandle must be at most 64 bytes as base64url.")
	if len(c.PrivateKey) > maxKey || len(c.PublicKey) > maxKey {
		return append(f, "A key has more than 8 KiB.")
	}
	private, privateErr := unpadded(&c.PrivateKey)
	public, publicErr := unpadded(&c.PublicKey)
	key, keyErr := x509.ParsePKCS8PrivateKey(private)
	shown, shownErr := x509.ParsePKIXPublicKey(public)
	f.require(privateErr == nil && keyErr == nil, "The privateKey must be a PKCS#8 key (DER) as base64url.")
	f.require(publicErr == nil && shownErr == nil, "The publicKey must be an SPKI key (DER) as base64url.")
	if keyErr == nil && shownErr == nil {
		f.require(isPair(key, shown), "The publicKey is not that of the privateKey.")
	}
	return f
}

// unpadded decodes base64url, and gives the text its one spelling, without padding.
func unpadded(text *string) ([]byte, error) {
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(*text, "="))
	if err == nil {
		*text = base64.RawURLEncoding.EncodeToString(b)
	}
	return b, err
}

// isPair reports whether a public key is that of a private key which signs.
func isPair(private, public any) bool {
	text, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return false
	}
	signer, ok := private.(crypto.Signer)
	if !ok {
		return false
	}
	own, err := x509.MarshalPKIXPublicKey(signer.Public())
	return err == nil && string(own) == string(text)
}

// isChromeKey reports whether Chrome takes a private key (device/fido/virtual_fido_device.cc, PrivateKey::FromPKCS8). The text is one.
func isChromeKey(text string) bool {
	der, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return false
	}
	switch key, _ := x509.ParsePKCS8PrivateKey(der); key := key.(type) { //nolint:errcheck // it has been parsed before
	case *ecdsa.PrivateKey:
		return key.Curve == elliptic.P256()
	case *rsa.PrivateKey, ed25519.PrivateKey:
		return true
	}
	return false
}

// CredentialChanges are what makes a profile's passkeys those that are wanted.
type CredentialChanges struct {
	Set    []Credential
	Remove []string // ids of passkeys that no wanted one replaces
	Taken  int      // wanted passkeys that the profile has afterwards
	All    int      // passkeys that it has then
}

// PlanCredentials compares the passkeys of a profile with those that are wanted. A passkey is the same one if its id is. With
// ReplaceDomains those of the wanted ones' rpIds go, with ReplaceAll all others.
func PlanCredentials(have, want []Credential, mode Mode) CredentialChanges {
	out := CredentialChanges{Taken: len(want)}
	sites, before := map[string]bool{}, map[string]Credential{}
	for _, c := range have {
		before[c.ID] = c
	}
	wanted := map[string]bool{}
	for _, c := range want {
		wanted[c.ID], sites[c.RPID] = true, true
		old, there := before[c.ID]
		if c.UserName == "" { // Playwright has none
			c.UserName = old.UserName
		}
		c.SignCount = max(c.SignCount, old.SignCount) // it only grows, or sites take the passkey for a copy (WebAuthn, 6.1.1)
		if !there || old != c {
			out.Set = append(out.Set, c)
		}
	}
	for _, c := range have {
		if !wanted[c.ID] && (mode == ReplaceAll || mode == ReplaceDomains && sites[c.RPID]) {
			out.Remove = append(out.Remove, c.ID)
		} else if !wanted[c.ID] {
			out.All++
		}
	}
	out.All += len(wanted)
	return out
}

// CredentialsOf returns the passkeys for domains, or for subdomains of these. Without domains it returns all.
func CredentialsOf(all []Credential, domains []string) []Credential {
	if len(domains) == 0 {
		return all
	}
	set := newDomainSet(domains)
	return slices.DeleteFunc(slices.Clone(all), func(c Credential) bool { return !set.has(c.RPID) })
}
