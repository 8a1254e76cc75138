package packs

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
)

// SecretSize is the length of a vault's secret in bytes.
const SecretSize = 32

const (
	nameSize  = sha256.Size
	nonceSize = 12 // of AES-GCM
	tagSize   = 16
)

// keys are what follows from a vault's secret: HKDF-SHA-256 (RFC 5869) with a word for each use.
type keys struct{ name, data, nonce []byte }

func newKeys(secret []byte) (keys, error) {
	if len(secret) != SecretSize {
		return keys{}, fmt.Errorf("the secret of a vault has %d bytes, not %d", SecretSize, len(secret))
	}
	derive := func(use string) []byte {
		key, err := hkdf.Key(sha256.New, secret, nil, "warren packs "+use, SecretSize)
		if err != nil {
			panic(err) // only for lengths that are too large
		}
		return key
	}
	return keys{derive("name"), derive("data"), derive("nonce")}, nil
}

// apart returns keys that choose other nonces. Whoever has k opens what they seal.
func (k keys) apart(writer string) (keys, error) {
	nonce, err := hkdf.Expand(sha256.New, k.nonce, "of "+writer, SecretSize)
	return keys{k.name, k.data, nonce}, err
}

// nameOf is the name of a chunk: nobody without the secret can tell from it what the chunk holds, also not by trying.
func (k keys) nameOf(plain []byte) (name [nameSize]byte) {
	mac := hmac.New(sha256.New, k.name)
	mac.Write(plain)
	mac.Sum(name[:0])
	return name
}

// aead is the cipher of what has this label: AES-256-GCM under a key of its own.
func (k keys) aead(label []byte) cipher.AEAD {
	key, err := hkdf.Expand(sha256.New, k.data, string(label), SecretSize)
	if err != nil {
		panic(err) // only for lengths that are too large
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return gcm
}

// seal appends to dst the nonce and the sealed text. The nonce follows from the very bytes that are sealed. The same bytes
// give the same result, so that a repeated upload is harmless. Other bytes, such as those of another version of the compressor,
// never meet the same nonce, which would break the cipher.
func (k keys) seal(dst, label, plain, about []byte) []byte {
	mac := hmac.New(sha256.New, k.nonce)
	mac.Write([]byte{byte(len(label))})
	mac.Write(label)
	mac.Write(sum(about))
	mac.Write(plain)
	nonce := mac.Sum(nil)[:nonceSize]
	return k.aead(label).Seal(append(dst, nonce...), nonce, plain, about)
}

// open returns what seal was given. The error is ErrDamaged.
func (k keys) open(label, sealed, about []byte) ([]byte, error) {
	if len(sealed) < nonceSize+tagSize {
		return nil, fmt.Errorf("%w: it is too short", ErrDamaged)
	}
	plain, err := k.aead(label).Open(nil, sealed[:nonceSize], sealed[nonceSize:], about)
	if err != nil {
		return nil, fmt.Errorf("%w, or is sealed with another secret", ErrDamaged)
	}
	return plain, nil
}

func sum(b []byte) []byte {
	s := sha256.Sum256(b)
	return s[:]
}
