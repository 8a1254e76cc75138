package userdata

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha1"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// Tells which cookies of Chrome's file can be opened here. On Linux with --password-store=basic the key is the same everywhere
// (components/os_crypt/sync/os_crypt_linux.cc): its values begin with v10. A keyring's begin with v11. macOS writes v10 with a key of the
// keychain, Windows v10 with one of DPAPI, and v20 with one that is bound to the program.

// countTime bounds the look at a file of a stranger.
const countTime = 20 * time.Second

// countCookies counts the cookies of a file, and tells the system that sealed them; "" if that is not certain. A file that cannot be read
// has none: the start says so.
func countCookies(ctx context.Context, file string, windows bool) (c Cookies, system string) {
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	key, err := linuxKey()
	if err != nil {
		return Cookies{}, ""
	}
	opened, keyring := 0, false
	err = eachValue(ctx, file, func(value []byte) {
		c.All++
		switch {
		case len(value) == 0: // not sealed
		case !windows && opens(key, value):
			opened++
		default:
			c.Sealed++
			keyring = keyring || bytes.HasPrefix(value, []byte("v11"))
		}
	})
	switch {
	case err != nil:
		return Cookies{}, ""
	case windows:
		return c, "windows"
	case opened > 0 || keyring:
		return c, "linux"
	case c.Sealed > 0:
		return c, "darwin"
	}
	return c, ""
}

// eachValue calls do with the sealed value of each cookie of a file.
func eachValue(ctx context.Context, file string, do func([]byte)) error {
	address := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(file), "/"),
		RawQuery: "mode=ro&immutable=1&_pragma=trusted_schema(0)"}
	db, err := sql.Open("sqlite", address.String())
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // it was only read
	var kind string
	err = db.QueryRowContext(ctx, "SELECT type FROM sqlite_master WHERE name = 'cookies'").Scan(&kind)
	if err != nil || kind != "table" { // a view may compute for ever
		return errors.Join(err, errors.New("no table of cookies"))
	}
	rows, err := db.QueryContext(ctx, "SELECT substr(encrypted_value, 1, 8192) FROM cookies LIMIT 1000000")
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // it was only read
	for rows.Next() {
		var value []byte
		if err := rows.Scan(&value); err != nil {
			return err
		}
		do(value)
	}
	return rows.Err()
}

// linuxKey is the key of the basic password store.
func linuxKey() (cipher.Block, error) {
	key, err := pbkdf2.Key(sha1.New, "peanuts", []byte("saltysalt"), 1, 16)
	if err != nil {
		return nil, err
	}
	return aes.NewCipher(key)
}

// opens reports whether a value opens with the key: its padding is right then.
func opens(key cipher.Block, value []byte) bool {
	text, ok := bytes.CutPrefix(value, []byte("v10"))
	if !ok || len(text) == 0 || len(text)%aes.BlockSize != 0 {
		return false
	}
	plain := make([]byte, len(text))
	cipher.NewCBCDecrypter(key, bytes.Repeat([]byte(" "), aes.BlockSize)).CryptBlocks(plain, text)
	n := int(plain[len(plain)-1])
	return n >= 1 && n <= aes.BlockSize && bytes.Equal(plain[len(plain)-n:], bytes.Repeat([]byte{byte(n)}, n))
}
