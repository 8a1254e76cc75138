package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"time"

	"warren/problem"
	"warren/store"
)

// This file says who may come in. A key is `wrn_`, 43 base62 characters (256 bits) and the CRC-32 (IEEE) of those 43 in
// 6 base62 characters, so that scanners recognise one. The database holds its SHA-256 alone.

// The scopes of keys, in the API's word for rights.
const (
	scopeRead    = store.MayRead
	scopeRun     = store.MayRun
	scopeWrite   = store.MayWrite
	scopeFiles   = store.MayFiles
	scopeSecrets = store.MaySecrets
	scopeAdmin   = store.MayAdmin
	scopeAny     = store.MayAny
)

// caller is the holder of the key that came with a request.
type caller struct {
	store.Holder
	mark string // what capabilities remember of the key: its id, but of WARREN_API_KEY, which changes
}

func newCaller(h store.Holder) *caller { return &caller{Holder: h, mark: h.KeyID} }

// may returns nil when the key's scopes allow want.
func (c *caller) may(want store.Right) *problem.Error {
	if c.has(want) {
		return nil
	}
	return problem.New(problem.Forbidden, "forbidden",
		"This key's scopes do not allow the operation; it needs `"+string(want)+"`.")
}

func (c *caller) has(want store.Right) bool { return c != nil && c.Has(want) }

// sees says whether the key may see the workspace.
func (c *caller) sees(workspace string) bool { return c.Sees.Sees(workspace) }

// newEnvironmentCaller is the holder of WARREN_API_KEY.
func newEnvironmentCaller(key string) *caller {
	return &caller{Holder: store.Holder{KeyID: "environment", Rights: store.AllRights(), Sees: store.All()}, mark: environmentMark(key)}
}

// environmentMark is what capabilities remember of WARREN_API_KEY.
func environmentMark(key string) string {
	hash := hashKey(key)
	hash = sha256.Sum256(hash[:])
	return "environment-" + hex.EncodeToString(hash[:8])
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// toBase62 writes n in base 62, padded with zeros to width.
func toBase62(n *big.Int, width int) string {
	out := make([]byte, width)
	n, base, digit := new(big.Int).Set(n), big.NewInt(62), new(big.Int)
	for i := width - 1; i >= 0; i-- {
		n.DivMod(n, base, digit)
		out[i] = base62[digit.Int64()]
	}
	return string(out)
}

// newKey makes a key of 256 random bits.
func newKey() string {
	var bits [32]byte
	rand.Read(bits[:]) //nolint:errcheck // never fails (crypto/rand)
	body := toBase62(new(big.Int).SetBytes(bits[:]), 43)
	return "wrn_" + body + keyChecksum(body)
}

func keyChecksum(body string) string {
	return toBase62(big.NewInt(int64(crc32.ChecksumIEEE([]byte(body)))), 6)
}

// isKey says whether s has the form of a key, checksum included.
func isKey(s string) bool {
	body, ok := strings.CutPrefix(s, "wrn_")
	return ok && len(body) == 49 && strings.Trim(body, base62) == "" && keyChecksum(body[:43]) == body[43:]
}

// checkOwnKey says what is wrong with a key of the user's own making (WARREN_API_KEY).
func checkOwnKey(key string) error {
	if isKey(key) {
		return nil
	}
	for _, c := range []byte(key) {
		if c < 0x21 || c > 0x7e {
			return errors.New("WARREN_API_KEY has a character that is not printable ASCII")
		}
	}
	if len(key) < 24 || len(key) > 200 {
		return errors.New("WARREN_API_KEY must have 24 to 200 characters; make one with: openssl rand -base64 32")
	}
	return nil
}

func hashKey(key string) [32]byte { return sha256.Sum256([]byte(key)) }

// keyring finds the caller of a request. It remembers keys by their hash: this process is the only one that changes them.
type keyring struct {
	store *store.Store
	admin [32]byte // of WARREN_API_KEY; zero when there is none

	mu      sync.RWMutex
	known   map[[32]byte]*caller
	forgets int                  // how often forget was called
	touched map[string]time.Time // last use that is not yet written, by key id
}

func newKeyring(st *store.Store, adminKey string) *keyring {
	k := &keyring{store: st, known: map[[32]byte]*caller{}, touched: map[string]time.Time{}}
	if adminKey != "" {
		k.admin = hashKey(adminKey)
		k.known[k.admin] = newEnvironmentCaller(adminKey)
	}
	return k
}

// unauthorized is the one answer for keys that are missing, malformed, unknown, revoked or expired.
func unauthorized() *problem.Error {
	return problem.New(problem.Unauthorized, "unauthorized",
		"Send `Authorization: Bearer <API_KEY>` with a valid key. `warren key create` makes one; the first `warren serve` printed the admin key.")
}

// authenticate finds the key's holder, or answers unauthorized.
func (k *keyring) authenticate(r *http.Request) (*caller, error) {
	values := r.Header["Authorization"]
	if len(values) != 1 {
		return nil, unauthorized()
	}
	scheme, key, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || key == "" || len(key) > 200 {
		return nil, unauthorized()
	}
	hash := hashKey(key)
	k.mu.RLock()
	c := k.known[hash]
	k.mu.RUnlock()
	if c == nil {
		var err error
		if c, err = k.load(r.Context(), key, hash); err != nil {
			return nil, err
		}
	}
	if c.Expired() {
		return nil, unauthorized()
	}
	k.touch(c.KeyID, time.Now())
	return c, nil
}

// confirm says whether the key of a caller that was let in is good still.
func (k *keyring) confirm(ctx context.Context, c *caller) error {
	if c.Expired() {
		return unauthorized()
	}
	k.mu.RLock()
	admin := k.known[k.admin]
	k.mu.RUnlock()
	if admin != nil && c.KeyID == admin.KeyID { // WARREN_API_KEY is in no table, and stays
		return nil
	}
	row, err := k.store.Read().GetKey(ctx, store.GetKeyParams{ID: c.KeyID})
	if errors.Is(err, store.ErrNoRow) || err == nil && row.RevokedAt != nil {
		return unauthorized()
	}
	return err
}

// load reads a key that was not used since the server started. What has not a key's form is not looked up.
func (k *keyring) load(ctx context.Context, key string, hash [32]byte) (*caller, error) {
	if !isKey(key) {
		return nil, unauthorized()
	}
	generation := k.generation()
	row, err := k.store.Read().GetKeyByHash(ctx, hash[:])
	if errors.Is(err, store.ErrNoRow) {
		return nil, unauthorized()
	}
	if err != nil {
		return nil, err
	}
	if row.RevokedAt != nil {
		return nil, unauthorized()
	}
	h, err := row.Holder()
	if err != nil {
		return nil, err
	}
	c := newCaller(h)
	k.remember(hash, c, generation)
	return c, nil
}

// generation changes with each revocation.
func (k *keyring) generation() int {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.forgets
}

// remember keeps what was read in a generation, unless a key was revoked since: it may be this one.
func (k *keyring) remember(hash [32]byte, c *caller, generation int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.forgets == generation {
		k.known[hash] = c
	}
}

// forget makes the next use of the key read the database again.
func (k *keyring) forget(keyID string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forgets++
	for h, c := range k.known {
		if c.KeyID == keyID && h != k.admin {
			delete(k.known, h)
		}
	}
}

// touch notes a key's use, at most once a minute; flush writes it.
func (k *keyring) touch(keyID string, now time.Time) {
	k.mu.RLock()
	last := k.touched[keyID]
	k.mu.RUnlock()
	if now.Sub(last) < time.Minute {
		return
	}
	k.mu.Lock()
	k.touched[keyID] = now
	k.mu.Unlock()
}

// flush writes the last uses of the keys that were used since the last time.
func (k *keyring) flush(ctx context.Context) error {
	k.mu.Lock()
	uses := k.touched
	k.touched = map[string]time.Time{}
	k.mu.Unlock()
	if len(uses) == 0 {
		return nil
	}
	err := k.store.Write(ctx, func(q *store.Queries) error {
		for id, at := range uses {
			if _, err := q.TouchKey(ctx, store.TouchKeyParams{ID: id, At: at.UnixMilli()}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil { // they are written the next time
		k.mu.Lock()
		defer k.mu.Unlock()
		for id, at := range uses {
			if _, newer := k.touched[id]; !newer {
				k.touched[id] = at
			}
		}
	}
	return err
}

// checkOrigin refuses what a foreign web page sends. A browser names the page in Origin and says in
// Sec-Fetch-Site how it stands to us (Fetch Metadata, W3C); scripts send neither.
func (s *server) checkOrigin(r *http.Request) error {
	upgrade := r.Header.Get("Upgrade") != ""
	if !upgrade && (r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions) {
		return nil
	}
	site := r.Header.Get("Sec-Fetch-Site")
	origins := r.Header["Origin"]
	foreign := site == "cross-site" || site == "same-site" || len(origins) > 1 ||
		len(origins) == 1 && !s.origins[strings.ToLower(origins[0])]
	if foreign {
		return foreignOrigin()
	}
	return nil
}

func foreignOrigin() *problem.Error {
	return problem.New(problem.Forbidden, "origin_not_allowed",
		"A page of another site sent this request. Warren takes requests from its own page and from programs.")
}
