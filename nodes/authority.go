package nodes

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"warren/store"
)

// Keeps the authority that certifies the servers of a database. The first server that joins makes it. It is in the database, sealed with
// the secret key, so that whoever has both is a server.

// ErrAuthority is the error of Join where the authority of the database cannot be opened. Nothing was changed.
var ErrAuthority = errors.New("the authority that certifies the servers of this database cannot be opened")

// authoritySetting is the setting with the authority: base64 of a sealed keptAuthority.
const authoritySetting = "node_authority"

// keptAuthority is an authority as it is sealed.
type keptAuthority struct {
	Certificate []byte `json:"certificate"` // DER
	Key         []byte `json:"key"`         // PKCS #8, DER
}

// authority certifies servers.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// openAuthority returns the authority of the database, and makes it if there is none. The transaction must be SERIALIZABLE, so that two
// servers do not make one each.
func openAuthority(ctx context.Context, q *store.Queries, st *store.Store) (*authority, error) {
	text, err := q.GetSetting(ctx, authoritySetting)
	if errors.Is(err, store.ErrNoRow) {
		return makeAuthority(ctx, q, st)
	}
	if err != nil {
		return nil, err
	}
	a, err := parseAuthority(st, text)
	if err != nil {
		return nil, fmt.Errorf("%w (setting %s: %w). Use the secret key that it was made with; or stop all servers, delete the setting, "+
			"and start them again: then they make another", ErrAuthority, authoritySetting, err)
	}
	return a, nil
}

// parseAuthority opens the value of the setting.
func parseAuthority(st *store.Store, text string) (*authority, error) {
	sealed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	plain, err := st.Unseal("settings", "value", authoritySetting, sealed)
	if err != nil {
		return nil, err
	}
	var kept keptAuthority
	if err := json.Unmarshal(plain, &kept); err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(kept.Certificate)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(kept.Key)
	if err != nil {
		return nil, err
	}
	own, ok := key.(*ecdsa.PrivateKey)
	if !ok || !own.PublicKey.Equal(certificate.PublicKey) {
		return nil, errors.New("its key and its certificate do not fit")
	}
	return &authority{certificate, own}, nil
}

// makeAuthority makes an authority and writes it. Its certificate is valid at all times: the clock of the server that makes it may be
// wrong by years, and the certificates of servers end soon anyway.
func makeAuthority(ctx context.Context, q *store.Queries, st *store.Store) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "Warren, servers of one database"}, IsCA: true, MaxPathLenZero: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)} // the last one means: no end (RFC 5280, 4.1.2.5)
	var kept keptAuthority
	if kept.Certificate, err = x509.CreateCertificate(rand.Reader, template, template, key.Public(), key); err != nil {
		return nil, err
	}
	if kept.Key, err = x509.MarshalPKCS8PrivateKey(key); err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(kept.Certificate)
	if err != nil {
		return nil, err
	}
	plain, err := json.Marshal(kept)
	if err != nil {
		return nil, err
	}
	sealed, err := st.Seal("settings", "value", authoritySetting, plain)
	if err != nil {
		return nil, err
	}
	return &authority{certificate, key}, q.SetSetting(ctx, store.SetSettingParams{Name: authoritySetting,
		Value: base64.StdEncoding.EncodeToString(sealed)})
}

// certify returns the certificate of a server, with a key of its own.
func (a *authority) certify(name string, from, until time.Time) (cert []byte, key *ecdsa.PrivateKey, err error) {
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, NotBefore: from, NotAfter: until}
	cert, err = x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	return cert, key, err
}
