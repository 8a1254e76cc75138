package state

import (
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"strings"
)

// maxCredentials is how many credentials a storageState may have, and maxKey how long a key may be as text: twice what RSA with 4096
// bits takes.
const (
	maxCredentials = 1000
	maxKey         = 8 << 10
)

func (s *storageReader) readCredential(index int) error {
	if index == maxCredentials {
		return s.tooMany(index, "credentials", maxCredentials)
	}
	var c Credential
	var wrong faults
	var there [5]bool
	err := s.object(map[string]func() error{
		"id":         s.texts("id", &c.ID, &there[0], false, &wrong),
		"rpId":       s.texts("rpId", &c.RPID, &there[1], false, &wrong),
		"userHandle": s.texts("userHandle", &c.UserHandle, &there[2], false, &wrong),
		"privateKey": s.texts("privateKey", &c.PrivateKey, &there[3], false, &wrong),
		"publicKey":  s.texts("publicKey", &c.PublicKey, &there[4], false, &wrong),
		"signCount":  s.ints("signCount", 0, &c.SignCount, &wrong),
	}, &wrong)
	if err != nil {
		return err
	}
	if len(wrong) == 0 {
		wrong = c.faults()
	}
	for _, other := range s.file.Credentials {
		wrong.require(other.ID != c.ID || other.RPID != c.RPID, "The credential is there twice.")
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

// unpadded decodes base64url, and takes the padding off the text.
func unpadded(text *string) ([]byte, error) {
	*text = strings.TrimRight(*text, "=")
	return base64.RawURLEncoding.DecodeString(*text)
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
