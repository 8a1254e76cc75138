package api

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"maps"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"warren/problem"
	"warren/store"
)

// Authenticates requests by API key. A key is `wrn_`, 43 base62 characters (256 bits), and the CRC-32 (IEEE) of those in 6 base62
// characters. The checksum lets secret scanners recognise a key. The database stores only its SHA-256.

// The scopes of keys, in the API's word for rights.
const (
	scopeRead    = store.MayRead
	scopeRun     = store.MayRun
	scopeWrite   = store.MayWrite
	scopeFiles   = store.MayFiles
	scopeSecrets = store.MaySecrets
	scopeAdmin   = store.MayAdmin
	scopeAny     = store.MayAny

	scopeNone store.Right = "none" // of operations that also take requests without a key
)

// caller is the holder of the API key of a request.
type caller struct {
	store.Holder
	mark   string    // identifies the key in capabilities: its id, for WARREN_API_KEY a hash
	parent string    // of a session key: the mark of the key that it came from
	limit  time.Time // of a session key: when that key expires; zero: never
}

func newCaller(h store.Holder) *caller { return &caller{Holder: h, mark: h.KeyID} }

// may returns an error (403) unless the key has the scope.
func (c *caller) may(want store.Right) *problem.Error {
	if want == scopeNone || c.has(want) {
		return nil
	}
	return problem.New(problem.Forbidden, "forbidden", "This key's scopes do not allow the operation; it needs `"+string(want)+"`.")
}

func (c *caller) has(want store.Right) bool { return c != nil && c.Has(want) }

// sees reports whether the key may see the workspace.
func (c *caller) sees(workspace string) bool { return c.Sees.Sees(workspace) }

// environmentID stands for WARREN_API_KEY where the ids of other keys stand, and environmentName where their names do.
const (
	environmentID   = "environment"
	environmentName = "WARREN_API_KEY"
)

// newEnvironmentCaller returns the holder of WARREN_API_KEY: every scope, every workspace.
func newEnvironmentCaller(key string) *caller {
	return &caller{Holder: store.Holder{KeyID: environmentID, Name: environmentName,
		Rights: store.AllRights(), Sees: store.All()}, mark: EnvironmentMark(key)}
}

// EnvironmentMark returns the mark of WARREN_API_KEY in capabilities. It changes with the key's value.
func EnvironmentMark(key string) string {
	hash := hashKey(key)
	hash = sha256.Sum256(hash[:])
	return "environment-" + hex.EncodeToString(hash[:8])
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// toBase62 returns n in base 62, padded with zeros to width characters.
func toBase62(n *big.Int, width int) string {
	out := make([]byte, width)
	n, base, digit := new(big.Int).Set(n), big.NewInt(62), new(big.Int)
	for i := width - 1; i >= 0; i-- {
		n.DivMod(n, base, digit)
		out[i] = base62[digit.Int64()]
	}
	return string(out)
}

// NewKey returns a new API key with 256 random bits.
func NewKey() string {
	var bits [32]byte
	rand.Read(bits[:]) //nolint:errcheck // never fails (crypto/rand)
	body := toBase62(new(big.Int).SetBytes(bits[:]), 43)
	return "wrn_" + body + keyChecksum(body)
}

func keyChecksum(body string) string {
	return toBase62(big.NewInt(int64(crc32.ChecksumIEEE([]byte(body)))), 6)
}

// isKey reports whether s has the form of an API key, its checksum included.
func isKey(s string) bool {
	body, ok := strings.CutPrefix(s, "wrn_")
	return ok && len(body) == 49 && strings.Trim(body, base62) == "" && keyChecksum(body[:43]) == body[43:]
}

// CheckKey returns an error if a key is not acceptable as WARREN_API_KEY: printable ASCII, 24 to 200 characters, or the form of
// NewKey.
func CheckKey(key string) error {
	if isKey(key) {
		return nil
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		return errors.New("WARREN_API_KEY has a character that is not printable ASCII")
	}
	if len(key) < 24 || len(key) > 200 {
		return errors.New("WARREN_API_KEY must have 24 to 200 characters; make one with: openssl rand -base64 32")
	}
	return nil
}

func hashKey(key string) [32]byte { return sha256.Sum256([]byte(key)) }

// keyring authenticates keys. It caches callers by the hash of their key. Where several servers share the database, followKeys ends those
// whose keys another one has revoked, and the cache counts while it does.
type keyring struct {
	store       *store.Store
	admin       [32]byte // hash of WARREN_API_KEY; zero: none
	environment string   // mark of WARREN_API_KEY; empty: none

	mu          sync.RWMutex
	known       map[[32]byte]*caller
	revocations int                  // number of calls of forget
	compared    time.Time            // when known was last compared with a shared database
	touched     map[string]time.Time // time of last use that is not written yet, by key id
}

func newKeyring(st *store.Store, adminKey string) *keyring {
	k := &keyring{store: st, known: map[[32]byte]*caller{}, touched: map[string]time.Time{}}
	if adminKey != "" {
		k.admin, k.environment = hashKey(adminKey), EnvironmentMark(adminKey)
		k.known[k.admin] = newEnvironmentCaller(adminKey)
	}
	return k
}

// unauthorized returns the one answer for keys that are missing, malformed, unknown, revoked or expired.
func unauthorized() *problem.Error {
	return problem.New(problem.Unauthorized, "unauthorized",
		"Send `Authorization: Bearer <API_KEY>` with a valid key. `warren key create` makes one; "+
			"the first `warren serve` printed the admin key.")
}

// authenticate returns the holder of the request's key. The error is unauthorized if there is no valid key.
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
	c, generation := k.known[hash], k.revocations
	if c != nil && k.isOld(c) {
		c = nil
	}
	k.mu.RUnlock()
	if c == nil {
		var err error
		if c, err = k.load(r.Context(), key, hash, generation); err != nil {
			return nil, err
		}
	}
	if c.Expired() {
		return nil, unauthorized()
	}
	k.touch(hash, c, time.Now())
	return c, nil
}

// confirm checks that the key of an authenticated caller was not revoked and has not expired since.
func (k *keyring) confirm(ctx context.Context, c *caller) error {
	return confirmKey(ctx, k.store.Read(), c)
}

func confirmKey(ctx context.Context, q *store.Queries, c *caller) error {
	if c.Expired() {
		return unauthorized()
	}
	if c.KeyID == environmentID { // WARREN_API_KEY is not in the database and never expires
		return nil
	}
	row, err := q.GetKey(ctx, store.GetKeyParams{ID: c.KeyID})
	if errors.Is(err, store.ErrNoRow) || err == nil && row.RevokedAt != nil {
		return unauthorized()
	}
	return err
}

// load reads a key that is not cached in a generation. Strings without the form of a key are not looked up.
func (k *keyring) load(ctx context.Context, key string, hash [32]byte, generation int) (*caller, error) {
	if !isKey(key) {
		return nil, unauthorized()
	}
	row, err := k.store.Read().GetKeyByHash(ctx, hash[:])
	if errors.Is(err, store.ErrNoRow) || err == nil && row.RevokedAt != nil {
		return nil, unauthorized()
	}
	if err != nil {
		return nil, err
	}
	c, err := k.callerOf(ctx, row)
	if err != nil {
		return nil, err
	}
	k.remember(hash, c, generation)
	return c, nil
}

// callerOf returns the holder of a key. It returns unauthorized if that is a session key whose parent is not valid now.
func (k *keyring) callerOf(ctx context.Context, row store.Key) (*caller, error) {
	h, err := row.Holder()
	if err != nil {
		return nil, err
	}
	c := newCaller(h)
	if row.Parent != nil {
		err = k.bindToParent(ctx, c, *row.Parent)
	}
	return c, err
}

// byMark returns the holder of a key by its mark. It returns unauthorized if the key is not valid now.
func (k *keyring) byMark(ctx context.Context, mark string) (*caller, error) {
	if mark == k.environment && mark != "" {
		k.mu.RLock()
		defer k.mu.RUnlock()
		return k.known[k.admin], nil
	}
	row, err := k.store.Read().GetKey(ctx, store.GetKeyParams{ID: mark})
	if errors.Is(err, store.ErrNoRow) || err == nil && row.RevokedAt != nil {
		return nil, unauthorized()
	}
	if err != nil {
		return nil, err
	}
	c, err := k.callerOf(ctx, row)
	if err == nil && c.Expired() {
		err = unauthorized()
	}
	return c, err
}

// sessionIdle is how long a session key (session_keys.go) is valid after its last use.
const sessionIdle = 30 * 24 * time.Hour

// bindToParent gives the caller of a session key what comes from its parent. It returns unauthorized if the parent is not valid now.
func (k *keyring) bindToParent(ctx context.Context, c *caller, parent string) error {
	c.parent = parent
	if parent == k.environment {
		return nil
	}
	h, err := k.store.HolderOf(ctx, parent)
	if errors.Is(err, store.ErrNoRow) {
		return unauthorized()
	}
	c.limit = h.Expires
	return err
}

// usedAt returns the caller of a session key with the expiry that a use has.
func (c *caller) usedAt(at time.Time) *caller {
	moved := *c
	moved.Expires = sessionExpiry(at, c.limit)
	return &moved
}

// sessionExpiry returns when a session key expires that was last used at a time. limit is when its parent does; zero: never.
func sessionExpiry(used, limit time.Time) time.Time {
	idle := used.Add(sessionIdle)
	if !limit.IsZero() && limit.Before(idle) {
		return limit
	}
	return idle
}

// remember caches a caller that was read in a generation (a value of revocations), unless a key was revoked since.
func (k *keyring) remember(hash [32]byte, c *caller, generation int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.revocations == generation {
		k.known[hash] = c
	}
}

// maxKeyAge is how long a cached caller counts without a comparison with a shared database.
const maxKeyAge = 5 * time.Second

// isOld reports whether a cached caller must be read anew: its key may have been revoked by another server, or used there, which moves the
// expiry of a session key. The mutex is held.
func (k *keyring) isOld(c *caller) bool {
	return k.store.Shared() && c.KeyID != environmentID && (time.Since(k.compared) > maxKeyAge || c.Expired())
}

// ids returns the ids of the cached keys.
func (k *keyring) ids() (out []string) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, c := range k.known {
		out = append(out, c.KeyID)
	}
	return out
}

// forget removes a key from the cache.
func (k *keyring) forget(keyID string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.revocations++
	for h, c := range k.known {
		if c.KeyID == keyID && h != k.admin {
			delete(k.known, h)
		}
	}
}

// touch records the use of a key, at most once a minute. flush writes it. The expiry of a session key moves with it.
func (k *keyring) touch(hash [32]byte, c *caller, now time.Time) {
	k.mu.RLock()
	last := k.touched[c.KeyID]
	k.mu.RUnlock()
	if now.Sub(last) < time.Minute {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.touched[c.KeyID] = now
	if c.parent != "" && k.known[hash] == c {
		k.known[hash] = c.usedAt(now)
	}
}

// flush writes the times at which keys were last used.
func (k *keyring) flush(ctx context.Context) error {
	k.mu.Lock()
	uses := k.touched
	k.touched = map[string]time.Time{}
	k.mu.Unlock()
	if len(uses) == 0 {
		return nil
	}
	err := k.store.Write(ctx, func(q *store.Queries) error {
		for _, id := range slices.Sorted(maps.Keys(uses)) { // in one order, so that two servers do not wait for each other
			p := store.TouchKeyParams{ID: id, At: uses[id].UnixMilli(), Idle: sessionIdle.Milliseconds()}
			if _, err := q.TouchKey(ctx, p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil { // the next flush writes them
		k.mu.Lock()
		defer k.mu.Unlock()
		maps.Copy(uses, k.touched) // those are later
		k.touched = uses
	}
	return err
}
