package store

import (
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

// This file seals secrets before they reach the database. It protects a copy of the database, not a disk that holds the
// key beside it. The rules are:
//
//   - AES-256-GCM with a random nonce. Each table has its own key, derived from the master key by HKDF-SHA-256 (RFC 5869).
//   - The additional data names table, column and row: a sealed value that is moved to another place does not open.
//   - An envelope is: version (1 byte), id of the master key (4 bytes), nonce (12 bytes), ciphertext and tag.
const (
	secretKeyName = "secret.key"
	canaryName    = "secret_canary" // a sealed setting of every database: it opens with the right key only
	canaryText    = "the key fits"

	envelopeVersion = 1
	keyIDLength     = 4
	headerLength    = 1 + keyIDLength
	masterLength    = 32
)

// keyring holds the master key and what is derived from it.
type keyring struct {
	master []byte
	id     []byte

	tables *sync.Map // name → cipher.AEAD
}

// Seal encrypts plain for one place. The same text gives another envelope each time.
func (s *Store) Seal(table, column, row string, plain []byte) ([]byte, error) {
	return s.keys.seal(table, column, row, plain)
}

// Unseal gives back what Seal was given, if table, column, row and the key are the same; else ErrUnseal.
func (s *Store) Unseal(table, column, row string, sealed []byte) ([]byte, error) {
	return s.keys.unseal(table, column, row, sealed)
}

func newKeyring(master []byte) (keyring, error) {
	id, err := hkdf.Key(sha256.New, master, nil, "warren key id", keyIDLength)
	return keyring{master: master, id: id, tables: &sync.Map{}}, err
}

// aead gives the cipher of a table.
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

// boundTo is the additional data. Names of tables and columns hold no "|", so that no two places read the same.
func boundTo(header []byte, table, column, row string) []byte {
	return append(header[:headerLength:headerLength], table+"|"+column+"|"+row...)
}

func (k keyring) seal(table, column, row string, plain []byte) ([]byte, error) {
	gcm, err := k.aead(table)
	if err != nil {
		return nil, err
	}
	header := append([]byte{envelopeVersion}, k.id...)
	return gcm.Seal(header, nil, plain, boundTo(header, table, column, row)), nil
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
	plain, err := gcm.Open([]byte{}, nil, sealed[headerLength:], boundTo(sealed, table, column, row))
	if err != nil {
		return nil, fmt.Errorf("%w: %s.%s is damaged or of another row", ErrUnseal, table, column)
	}
	return plain, nil
}

// openKeyring reads the key, makes one for a new database, and proves that it fits this database.
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

// readSecretKey reads the master key; for a fresh database it makes one in the data folder, but never where an operator points.
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
		return nil, fmt.Errorf("%w: %s is gone; put it back from where the data was copied from, or restore a backup with its key", ErrSecretKey, name)
	case errors.Is(err, fs.ErrNotExist):
		return makeSecretKey(dir, name)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrSecretKey, err)
	}
	master, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(master) != masterLength {
		return nil, fmt.Errorf("%w: %s must hold 64 hexadecimal digits", ErrSecretKey, name) // never what it does hold
	}
	return master, nil
}

// makeSecretKey writes a new key so that a crash leaves all of it or nothing.
func makeSecretKey(dir, name string) ([]byte, error) {
	master := make([]byte, masterLength)
	rand.Read(master)                         // never fails (crypto/rand)
	f, err := os.CreateTemp(dir, ".secret-*") // O_EXCL, 0600
	if err != nil {
		return nil, typedFile(err)
	}
	_, err = fmt.Fprintln(f, hex.EncodeToString(master))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return nil, typedFile(err)
	}
	return master, syncFolder(dir)
}
