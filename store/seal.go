package store

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Seals secrets before they reach the database. This protects a copy of the database, not a disk that also holds the
// key.
//
//   - The cipher is AES-256-GCM with a random nonce. HKDF-SHA-256 (RFC 5869) derives a key per table from the master key.
//   - The additional data is table, column and row: a sealed value that is moved to another place does not open.
//   - An envelope is: version (1 byte), id of the master key (4 bytes), nonce (12 bytes), ciphertext and tag.
const (
	secretKeyName = "secret.key"
	canaryName    = "secret_canary" // sealed setting of every database, which only the right key opens
	canaryText    = "the key fits"

	envelopeVersion = 1
	keyIDLength     = 4
	headerLength    = 1 + keyIDLength
	masterLength    = 32
)

// keyring holds the master key and the keys derived from it.
type keyring struct {
	master []byte
	id     []byte

	tables *sync.Map // name → cipher.AEAD
}

// Seal encrypts plain for one place. The same text gives another envelope each time.
func (s *Store) Seal(table, column, row string, plain []byte) ([]byte, error) {
	return s.keys.seal(table, column, row, plain)
}

// Unseal decrypts what Seal returned, if table, column, row and the key are the same. Otherwise it fails with
// ErrUnseal.
func (s *Store) Unseal(table, column, row string, sealed []byte) ([]byte, error) {
	return s.keys.unseal(table, column, row, sealed)
}

func newKeyring(master []byte) (keyring, error) {
	id, err := hkdf.Key(sha256.New, master, nil, "warren key id", keyIDLength)
	return keyring{master: master, id: id, tables: &sync.Map{}}, err
}

// aead returns the cipher of a table.
func (k keyring) aead(table string) (cipher.AEAD, error) {
	if known, ok := k.tables.Load(table); ok {
		return known.(cipher.AEAD), nil
	}
	key, err := hkdf.Key(sha256.New, k.master, nil, "warren table "+table, masterLength)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	k.tables.Store(table, gcm)
	return gcm, nil
}

// additionalData returns what an envelope is bound to. Names of tables and columns contain no "|", so that no two
// places are equal.
func additionalData(header []byte, table, column, row string) []byte {
	return append(header[:headerLength:headerLength], table+"|"+column+"|"+row...)
}

func (k keyring) seal(table, column, row string, plain []byte) ([]byte, error) {
	gcm, err := k.aead(table)
	if err != nil {
		return nil, err
	}
	header := append([]byte{envelopeVersion}, k.id...)
	return gcm.Seal(header, nil, plain, additionalData(header, table, column, row)), nil
}

func (k keyring) unseal(table, column, row string, sealed []byte) ([]byte, error) {
	if len(sealed) < headerLength || sealed[0] != envelopeVersion {
		return nil, fmt.Errorf("%w: %s.%s is no envelope", ErrUnseal, table, column)
	}
	if subtle.ConstantTimeCompare(sealed[1:headerLength], k.id) != 1 {
		return nil, fmt.Errorf("%w: %s.%s was sealed with another key", ErrUnseal, table, column)
	}
	gcm, err := k.aead(table)
	if err != nil {
		return nil, err
	}
	plain, err := gcm.Open([]byte{}, nil, sealed[headerLength:], additionalData(sealed, table, column, row))
	if err != nil {
		return nil, fmt.Errorf("%w: %s.%s is damaged or of another row", ErrUnseal, table, column)
	}
	return plain, nil
}

// openKeyring reads the key, or creates one for a new database, and checks that it fits this database.
func openKeyring(ctx context.Context, s *Store, dir, file string) (keyring, error) {
	canary, err := s.short.GetSetting(ctx, canaryName)
	fresh := errors.Is(err, ErrNoRow)
	if err != nil && !fresh {
		return keyring{}, err
	}
	master, err := readSecretKey(dir, file, fresh)
	if err != nil {
		return keyring{}, err
	}
	k, err := newKeyring(master)
	if err != nil {
		return keyring{}, err
	}
	if !fresh {
		return k, checkCanary(k, canary)
	}
	sealed, err := k.seal("settings", "value", canaryName, []byte(canaryText))
	if err != nil {
		return keyring{}, err
	}
	return k, s.Write(ctx, func(q *Queries) error {
		first, err := q.GetSetting(ctx, canaryName)
		if !errors.Is(err, ErrNoRow) { // another server was first
			return cmp.Or(err, checkCanary(k, first))
		}
		return q.SetSetting(ctx, SetSettingParams{Name: canaryName, Value: base64.StdEncoding.EncodeToString(sealed)})
	})
}

func checkCanary(k keyring, canary string) error {
	sealed, err := base64.StdEncoding.DecodeString(canary)
	if err == nil {
		_, err = k.unseal("settings", "value", canaryName, sealed)
	}
	if err != nil {
		return fmt.Errorf("%w (%w): put back the key that this database was made with, or restore a backup with its key", ErrSecretKey, err)
	}
	return nil
}

// readSecretKey reads the master key. For a fresh database it creates one in the data folder, but never at a path
// that an operator has set.
func readSecretKey(dir, file string, fresh bool) ([]byte, error) {
	name := file
	if name == "" {
		name = filepath.Join(dir, secretKeyName)
	}
	text, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && file != "":
		return nil, fmt.Errorf("%w: %s does not exist; make one with: openssl rand -hex 32", ErrSecretKey, name)
	case errors.Is(err, fs.ErrNotExist) && !fresh:
		return nil, fmt.Errorf("%w: %s is gone; put it back from where the data was copied from, or restore a backup with its key",
			ErrSecretKey, name)
	case errors.Is(err, fs.ErrNotExist):
		return makeSecretKey(dir, name)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrSecretKey, err)
	}
	master, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(master) != masterLength {
		return nil, fmt.Errorf("%w: %s must hold 64 hexadecimal digits", ErrSecretKey, name) // the file's content is never shown
	}
	return master, nil
}

// makeSecretKey writes a new key atomically.
func makeSecretKey(dir, name string) ([]byte, error) {
	master := make([]byte, masterLength)
	rand.Read(master) // never fails (crypto/rand)
	if err := WriteFile(name, hex.EncodeToString(master)+"\n"); err != nil {
		return nil, typedFile(err)
	}
	return master, nil
}
