package shim

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"warren/browser"
	"warren/state"
)

// Keeps the cookies of a running browser beside its data, sealed. A power cut may tear Chrome's own file; the next start then sets what
// is kept. A browser that has closed has written its file, so that nothing is kept of it.
//
// The run's process does it, which lives on without a server. Chrome writes its file within 30 seconds after a change, session cookies
// too, since runs restore them. So nothing is read while the file is the same.

const (
	// firstCookies is when the cookies are first kept, after the start; up to twice that.
	firstCookies = 4 * time.Second
	// cookiesLook is how often the file is looked at, up to a fifth more: many runs do not do it at once.
	cookiesLook = 10 * time.Second
	// cookiesPause is how long after they were kept they are not read again. With Chrome's 30 seconds and cookiesLook it is less than a
	// minute.
	cookiesPause = 15 * time.Second
	// cookiesAnswer is how long a busy browser may take to tell them.
	cookiesAnswer = 10 * time.Second
	// maxCookies bounds the file in bytes. Chrome keeps some thousand cookies of 4 KiB.
	maxCookies = 64 << 20
)

// CookieKeySize is the length in bytes of the key that the cookies of a profile are sealed with.
const CookieKeySize = 32

// cookiesFile holds what is kept. Only the top of a profile's folder has it, which no snapshot keeps.
func cookiesFile(profileDir string) string { return filepath.Join(profileDir, "cookies.sealed") }

// KeptCookies are the cookies of a run at a moment.
type KeptCookies struct {
	At      time.Time      `json:"at"`
	Cookies []state.Cookie `json:"cookies"`
}

// cookieCipher is AES-256-GCM. Each seal has a random nonce.
func cookieCipher(key []byte) (cipher.AEAD, error) {
	if len(key) != CookieKeySize {
		return nil, fmt.Errorf("the key of the cookies has %d bytes, not %d", len(key), CookieKeySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// sealedFor is what is sealed besides the cookies: another profile's file is not taken.
func sealedFor(profileID string) []byte { return []byte("warren cookies " + profileID) }

// KeepCookies replaces what is kept for a profile. After a crash there is the old or the new.
func KeepCookies(profileDir, profileID string, key []byte, k KeptCookies) error {
	seal, err := cookieCipher(key)
	if err != nil {
		return err
	}
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return writeDurably(cookiesFile(profileDir), seal.Seal(nil, nil, text, sealedFor(profileID)))
}

// ReadCookies returns what is kept for a profile; nil if nothing is. The error says that it cannot be opened.
func ReadCookies(profileDir, profileID string, key []byte) (*KeptCookies, error) {
	info, err := os.Lstat(cookiesFile(profileDir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && (!info.Mode().IsRegular() || info.Size() > maxCookies):
		err = errors.New("the kept cookies are no file of ours")
	}
	if err != nil {
		return nil, err
	}
	sealed, err := os.ReadFile(cookiesFile(profileDir))
	if err != nil {
		return nil, err
	}
	seal, err := cookieCipher(key)
	if err != nil {
		return nil, err
	}
	text, err := seal.Open(nil, nil, sealed, sealedFor(profileID))
	if err != nil {
		return nil, err
	}
	k := &KeptCookies{}
	return k, json.Unmarshal(text, k)
}

// ForgetCookies removes what is kept of a profile: it has other data now.
func ForgetCookies(profileDir string) error {
	if err := os.Remove(cookiesFile(profileDir)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// writeDurably replaces a file. It is on the disk when writeDurably returns.
func writeDurably(file string, text []byte) error {
	half := file + ".new"
	f, err := os.OpenFile(half, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(half, file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(half))
	}
	if runtime.GOOS == "windows" { // folders cannot be flushed there
		return nil
	}
	dir, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// cookieKeeper keeps the cookies of one run.
type cookieKeeper struct {
	browser *browser.Browser
	log     *slog.Logger
	folder  string // of the profile
	chrome  string // the user data in it
	profile string
	key     []byte

	file fileState // of Chrome's own file when the cookies were read
	read time.Time // when they were; zero: never
	hash [sha256.Size]byte
}

// run keeps the cookies until the browser has exited.
func (k *cookieKeeper) run() {
	wait := time.NewTimer(spread(firstCookies, 1))
	defer wait.Stop()
	for {
		select {
		case <-k.browser.Done():
			return
		case <-wait.C:
			k.warn(k.look())
			wait.Reset(spread(cookiesLook, 0.2))
		}
	}
}

// forget removes what is kept.
func (k *cookieKeeper) forget() { k.warn(ForgetCookies(k.folder)) }

func (k *cookieKeeper) warn(err error) {
	if err != nil {
		k.log.Warn("the cookies could not be kept beside the profile's data", "cause", err)
	}
}

// spread returns a random time of at least d, and at most d more by a part.
func spread(d time.Duration, part float64) time.Duration {
	n, err := rand.Int(rand.Reader, big.NewInt(int64(float64(d)*part)+1))
	if err != nil {
		panic(err) // never (crypto/rand)
	}
	return d + time.Duration(n.Int64())
}

// fileState says whether a file was written meanwhile.
type fileState struct {
	size     int64
	modified time.Time
}

// look keeps the cookies if Chrome's file has changed since they were read.
func (k *cookieKeeper) look() error {
	if !k.browser.FrozenSince().IsZero() { // then they do not change, and no question should thaw it
		return nil
	}
	now := ownCookiesFile(k.chrome)
	if !k.read.IsZero() && (now == k.file || time.Since(k.read) < cookiesPause) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), cookiesAnswer)
	defer cancel()
	all, err := k.browser.Cookies(ctx)
	if err != nil {
		k.log.Debug("the browser does not tell its cookies", "cause", err)
		return nil // it is busy, or ends
	}
	k.file, k.read = now, time.Now()
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	hash := sha256.Sum256(text)
	if hash == k.hash {
		return nil
	}
	if err := KeepCookies(k.folder, k.profile, k.key, KeptCookies{k.read.UTC(), all}); err != nil {
		return err
	}
	k.hash = hash
	return nil
}

// ownCookiesFile returns the state of the file that Chrome keeps the cookies in. Some versions have it in Network.
func ownCookiesFile(chrome string) (newest fileState) {
	for _, dir := range []string{"", "Network"} {
		info, err := os.Stat(filepath.Join(chrome, "Default", dir, "Cookies"))
		if err == nil && info.ModTime().After(newest.modified) {
			newest = fileState{info.Size(), info.ModTime()}
		}
	}
	return newest
}
