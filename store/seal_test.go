package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSealedValuesOpenInTheirPlaceOnly(t *testing.T) {
	s := openTest(t)
	for _, plain := range [][]byte{[]byte("hunter2"), {}, {0, 1, 2}, bytes.Repeat([]byte("x"), 100_000)} {
		sealed, err := s.Seal("proxies", "password", "a", plain)
		if err != nil {
			t.Fatal(err)
		}
		if len(plain) > 3 && bytes.Contains(sealed, plain) {
			t.Error("the envelope holds the text")
		}
		again, err := s.Seal("proxies", "password", "a", plain)
		if err != nil || bytes.Equal(sealed, again) {
			t.Errorf("two envelopes of one text are the same (%v)", err)
		}
		if got, err := s.Unseal("proxies", "password", "a", sealed); err != nil || !bytes.Equal(got, plain) || got == nil {
			t.Errorf("got %d bytes, %v; want %d", len(got), err, len(plain))
		}
		for _, place := range [][3]string{{"proxies", "password", "b"}, {"proxies", "notes", "a"}, {"keys", "password", "a"},
			{"proxies", "password", ""}} {
			if got, err := s.Unseal(place[0], place[1], place[2], sealed); !errors.Is(err, ErrUnseal) || got != nil {
				t.Errorf("moved to %v: got %q, %v; want ErrUnseal", place, got, err)
			}
		}
		for i := range min(len(sealed), 60) {
			changed := bytes.Clone(sealed)
			changed[i] ^= 1
			if got, err := s.Unseal("proxies", "password", "a", changed); !errors.Is(err, ErrUnseal) || got != nil {
				t.Errorf("byte %d changed: got %q, %v; want ErrUnseal", i, got, err)
			}
			if got, err := s.Unseal("proxies", "password", "a", sealed[:i]); !errors.Is(err, ErrUnseal) || got != nil {
				t.Errorf("cut off at %d: got %q, %v; want ErrUnseal", i, got, err)
			}
		}
	}
}

// An attacker with write access to the file moves one proxy's password to another proxy, which leads to their host.
func TestPasswordSwappedBetweenRows(t *testing.T) {
	s := openTest(t)
	ctx := context.Background()
	ensure(t, s, "default")
	rows := map[string]Proxy{}
	for _, host := range []string{"one", "two"} {
		p := aProxy("default", host)
		sealed, err := s.Seal("proxies", "password", p.ID, []byte("secret of "+host))
		if err != nil {
			t.Fatal(err)
		}
		p.Password = sealed
		mustWrite(t, s, func(q *Queries) (err error) { rows[host], err = q.InsertProxy(ctx, p); return err })
	}
	mustWrite(t, s, func(q *Queries) error {
		_, err := q.db.ExecContext(ctx, "UPDATE proxies SET password = ? WHERE host = 'two'", rows["one"].Password)
		return err
	})
	for host, want := range map[string]error{"one": nil, "two": ErrUnseal} {
		row, err := s.Read().GetProxy(ctx, GetProxyParams{ID: rows[host].ID})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Unseal("proxies", "password", row.ID, row.Password); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", host, err, want)
		}
	}
}

func TestSecretKey(t *testing.T) {
	const key = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	write := func(t *testing.T, dir, text string) string {
		t.Helper()
		file := filepath.Join(dir, "key")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	open := func(dir string, o Options) error {
		s, err := Open(context.Background(), dir, o)
		if err == nil {
			err = s.Close()
		}
		return err
	}
	refuse := func(t *testing.T, err error, want string) {
		t.Helper()
		if !errors.Is(err, ErrSecretKey) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want ErrSecretKey with %q", err, want)
		}
		if err != nil && (strings.Contains(err.Error(), key[:8]) || strings.Contains(err.Error(), key[len(key)-8:])) {
			t.Errorf("the error tells the key: %v", err)
		}
	}
	t.Run("gone", func(t *testing.T) {
		dir, _ := aDatabase(t, 1)
		if err := os.Remove(filepath.Join(dir, "secret.key")); err != nil {
			t.Fatal(err)
		}
		refuse(t, open(dir, Options{}), "put it back")
		if _, err := os.Stat(filepath.Join(dir, "secret.key")); err == nil {
			t.Error("a new key was made, which opens nothing that is sealed")
		}
	})
	t.Run("another", func(t *testing.T) {
		dir, _ := aDatabase(t, 1)
		refuse(t, open(dir, Options{SecretKeyFile: write(t, dir, key)}), "put back the key")
	})
	t.Run("elsewhere", func(t *testing.T) {
		dir := t.TempDir()
		file := write(t, t.TempDir(), " "+strings.ToUpper(key)+"\r\n")
		for range 2 {
			if err := open(dir, Options{SecretKeyFile: file}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "secret.key")); err == nil {
			t.Error("a key was made in the data folder, uninvited")
		}
		refuse(t, open(dir, Options{}), "is gone")
	})
	t.Run("not there", func(t *testing.T) {
		refuse(t, open(t.TempDir(), Options{SecretKeyFile: filepath.Join(t.TempDir(), "none")}), "openssl rand -hex 32")
	})
	t.Run("malformed", func(t *testing.T) {
		for _, text := range []string{"", "x", key[:62], key + "00", "zz" + key[2:]} {
			refuse(t, open(t.TempDir(), Options{SecretKeyFile: write(t, t.TempDir(), text)}), "64 hexadecimal digits")
		}
	})
	t.Run("in the folder", func(t *testing.T) {
		dir, _ := aDatabase(t, 1)
		text, err := os.ReadFile(filepath.Join(dir, "secret.key"))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := hex.DecodeString(strings.TrimSpace(string(text))); err != nil || len(b) != 32 {
			t.Errorf("the key is %d bytes, %v; want 32", len(b), err)
		}
	})
}
