package webhooks

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"warren/store"
)

// secretBytes is the length of a secret. The rules allow 24 to 64.
const secretBytes = 32

// DefaultOverlap is how long the former secret signs beside a new one. MaxOverlap is the longest that can be asked for.
const (
	DefaultOverlap = 24 * time.Hour
	MaxOverlap     = 7 * 24 * time.Hour
)

// NewSecret returns a new secret of 256 random bits, as it is shown once: whsec_ and base64.
func NewSecret() string {
	var bits [secretBytes]byte
	rand.Read(bits[:]) //nolint:errcheck // never fails (crypto/rand)
	return "whsec_" + base64.StdEncoding.EncodeToString(bits[:])
}

// Sealed are the columns of a webhook that are sealed.
type Sealed struct {
	URL, Secret, OldSecret []byte
	OldUntil               *int64
}

// Seal seals the address and the secret of a webhook with an id.
func (s *Sender) Seal(id, address, secret string) (out Sealed, err error) {
	if out.URL, err = s.SealURL(id, address); err != nil {
		return out, err
	}
	out.Secret, err = s.store.Seal("webhooks", "secret", id, []byte(secret))
	return out, err
}

// SealURL seals the address alone.
func (s *Sender) SealURL(id, address string) ([]byte, error) {
	return s.store.Seal("webhooks", "url", id, []byte(address))
}

// URL opens the address of a webhook. It may hold tokens, so that it has no place in logs, errors and events.
func (s *Sender) URL(row store.Webhook) (string, error) {
	plain, err := s.store.Unseal("webhooks", "url", row.ID, row.URL)
	return string(plain), err
}

// Rotate seals a new secret for a webhook. The secret of before signs too until a time; zero: it signs nothing any more.
func (s *Sender) Rotate(row store.Webhook, secret string, until time.Time) (out Sealed, err error) {
	out.URL = row.URL
	if out.Secret, err = s.store.Seal("webhooks", "secret", row.ID, []byte(secret)); err != nil || until.IsZero() {
		return out, err
	}
	before, err := s.store.Unseal("webhooks", "secret", row.ID, row.Secret)
	if err != nil {
		return out, err
	}
	ms := until.UnixMilli()
	out.OldUntil = &ms
	out.OldSecret, err = s.store.Seal("webhooks", "old_secret", row.ID, before)
	return out, err
}

// secrets are the keys that sign for a webhook.
type secrets struct {
	current, old []byte
	oldUntil     time.Time
}

func (s *Sender) open(row store.Webhook) (out secrets, err error) {
	if out.current, err = s.openSecret("secret", row.ID, row.Secret); err != nil || row.OldSecret == nil {
		return out, err
	}
	out.oldUntil = time.UnixMilli(*row.OldUntil)
	out.old, err = s.openSecret("old_secret", row.ID, row.OldSecret)
	return out, err
}

func (s *Sender) openSecret(column, id string, sealed []byte) ([]byte, error) {
	plain, err := s.store.Unseal("webhooks", column, id, sealed)
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(strings.TrimPrefix(string(plain), "whsec_"))
}

// sign returns the header webhook-signature: one signature, and one more by the former secret while that signs too.
func (k secrets) sign(id string, at time.Time, body string) string {
	out := signature(k.current, id, at, body)
	if k.old != nil && at.Before(k.oldUntil) {
		out += " " + signature(k.old, id, at, body)
	}
	return out
}

// signature is HMAC-SHA256 over id, time and body (Standard Webhooks, Signature scheme).
func signature(key []byte, id string, at time.Time, body string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "." + body))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
