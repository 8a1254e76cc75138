package api

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"warren/testnet"
)

// checksum is the contract's: CRC-32 (IEEE, reflected, 0xEDB88320) of the 43 characters, in 6 base62 characters, padded
// with 0. It is written out here, so that it shares nothing with the code that it proves.
func checksum(body string) string {
	crc := ^uint32(0)
	for _, c := range []byte(body) {
		crc ^= uint32(c)
		for range 8 {
			if crc&1 == 1 {
				crc = crc>>1 ^ 0xEDB88320
			} else {
				crc >>= 1
			}
		}
	}
	crc = ^crc
	digits := "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	out := ""
	for range 6 {
		out = string(digits[crc%62]) + out
		crc /= 62
	}
	return out
}

var keyForm = regexp.MustCompile(`wrn_[0-9A-Za-z]{49}`)

// wantKey fails unless key has the form of the contract.
func wantKey(t testing.TB, key string) {
	t.Helper()
	if len(key) != 53 || keyForm.FindString(key) != key || checksum(key[4:47]) != key[47:] {
		t.Errorf("key %q has not the form wrn_ + 43 + 6 with its checksum", key)
	}
}

// TestKeyForm: a thousand keys have the form and differ; a changed character is noticed without the database.
func TestKeyForm(t *testing.T) {
	t.Parallel()
	if got := checksum("123456789"); got != toBase62FromTest(0xCBF43926) {
		t.Fatalf("the test's own CRC is wrong: %s", got) // the check value of CRC-32/ISO-HDLC
	}
	seen := map[string]bool{}
	for range 1000 {
		k := NewKey()
		wantKey(t, k)
		if seen[k] || !isKey(k) {
			t.Fatalf("%q: twice, or not taken", k)
		}
		seen[k] = true
		i := 4 + len(seen)%49
		other := k[:i] + string("0A"[oneIf(k[i] == '0')]) + k[i+1:]
		if other != k && isKey(other) {
			t.Errorf("%q is taken, though character %d of %q was changed", other, i, k)
		}
	}
}

func toBase62FromTest(n uint32) (out string) {
	for range 6 {
		out = string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[n%62]) + out
		n /= 62
	}
	return out
}

// TestKeyIsShownOnce: the key is in the answer that made it, and nowhere else; the database holds its SHA-256.
func TestKeyIsShownOnce(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	r := a.do(t, "POST", "/keys", `{"name":" ci ","scopes":["write","read","write"],"workspaces":["w1","w2"],
		"expiresAt":"2999-01-31T00:00:00+02:00"}`).
		want(t, 201)
	key, id := r.text("key"), r.text("id")
	wantKey(t, key)
	for member, want := range map[string]any{"name": "ci", "scopes": []string{"read", "write"}, "workspaces": []string{"w1", "w2"},
		"expiresAt": "2999-01-30T22:00:00.000Z", "lastUsedAt": nil, "revokedAt": nil, "hint": key[:8]} {
		r.equal(t, member, want)
	}
	if got := r.header.Get("Location"); got != "/api/v1/keys/"+id {
		t.Errorf("Location is %q", got)
	}
	a.as(key).do(t, "GET", "/profiles", nil).want(t, 200)
	list := a.do(t, "GET", "/keys", nil).want(t, 200)
	list.equal(t, "total", 1)
	list.equal(t, "data.0.id", id)
	if bytes.Contains(list.body, []byte(key)) || bytes.Contains(list.body, []byte(`"key"`)) {
		t.Errorf("the list shows the key: %s", list)
	}
	a.do(t, "POST", "/keys", `{"name":"all","scopes":["admin"]}`).want(t, 201).equal(t, "workspaces", nil)
	if err := a.stop(); err != nil { // then everything is in the files
		t.Fatal(err)
	}
	hash := sha256.Sum256([]byte(key))
	var hits int
	eachFile(t, a.dir, func(path string, b []byte) {
		if bytes.Contains(b, []byte(key)) || bytes.Contains(b, []byte(key[4:47])) {
			t.Errorf("%s holds the key", path)
		}
		hits += bytes.Count(b, hash[:])
	})
	if hits == 0 {
		t.Error("no file holds the key's SHA-256: the search is blind")
	}
	if strings.Contains(a.log.String(), key) {
		t.Error("the log holds the key")
	}
}

// eachFile gives every file below dir to fn.
func eachFile(t testing.TB, dir string, fn func(path string, b []byte)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil {
			fn(path, b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if dump := testnet.Dump(t, dir); dump != nil {
		fn("the database", dump)
	}
}

// TestOwnKey: WARREN_API_KEY opens everything, and nothing is printed or written for it.
func TestOwnKey(t *testing.T) {
	t.Parallel()
	for _, own := range []string{NewKey(), strings.Repeat("k", 24), strings.Repeat("~", 200)} {
		a := newAPI(t, func(c *setup) { c.APIKey = own })
		a.do(t, "GET", "/keys", nil).want(t, 200).equal(t, "total", 0)
		if _, err := os.Stat(filepath.Join(a.dir, "admin.key")); !os.IsNotExist(err) {
			t.Errorf("admin.key was written (%v)", err)
		}
		if strings.Contains(a.log.String(), "key") || strings.Contains(a.log.String(), own) {
			t.Errorf("standard error tells of a key:\n%s", a.log)
		}
		a.as(own[:len(own)-1]).do(t, "GET", "/keys", nil).want(t, 401)
		a.as(own+"x").do(t, "GET", "/keys", nil).want(t, 401)
	}
}

// TestKeysCome And Go: revoked at once, expired on time, unknown twice, and the answers do not tell which.
func TestKeysComeAndGo(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	key, id := a.newKey(t, "read")
	a.as(key).do(t, "GET", "/profiles", nil).want(t, 200)
	a.do(t, "DELETE", "/keys/"+id, nil).want(t, 204)
	a.as(key).do(t, "GET", "/profiles", nil).refused(t, 401, "unauthorized")
	a.do(t, "DELETE", "/keys/"+id, nil).refused(t, 404, "key_not_found")
	a.do(t, "DELETE", "/keys/nope", nil).refused(t, 404, "key_not_found")
	if a.do(t, "GET", "/keys", nil).want(t, 200).text("data.0.revokedAt") == "" {
		t.Error("the list does not say that the key is revoked")
	}
	// A key that expires: used before, refused after.
	brief, soon := a.briefKey(t, 700*time.Millisecond, "read")
	waitFor(t, "the key to expire", func() bool { return a.as(brief).do(t, "GET", "/profiles", nil).status == 401 })
	if time.Now().Before(soon) {
		t.Error("it expired too early")
	}
	unknown := NewKey()
	var faces []string
	for _, k := range []string{"", "x", key, brief, unknown, "wrn_" + strings.Repeat("0", 49), strings.Repeat("k", 5000)} {
		r := a.as(k).do(t, "GET", "/profiles", nil).refused(t, 401, "unauthorized")
		faces = append(faces, strings.ReplaceAll(string(r.body), r.header.Get("X-Request-Id"), "ID"))
	}
	if len(slices.Compact(faces)) != 1 {
		t.Errorf("missing, malformed, unknown, revoked and expired keys are told apart: %q", faces)
	}
}

// TestRevokedWhileLoaded: a key whose first use and whose revocation cross is not remembered as good.
func TestRevokedWhileLoaded(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for range 30 {
		a.srv.authFailures.reset() // it tries more wrong keys than one address may
		key, id := a.newKey(t, "read")
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { a.as(key).do(t, "GET", "/runs", nil) })
		}
		a.do(t, "DELETE", "/keys/"+id, nil).want(t, 204)
		wg.Wait()
		a.as(key).do(t, "GET", "/runs", nil).refused(t, 401, "unauthorized")
	}
	// The crossing itself, step by step: read, revoke, remember.
	key, id := a.newKey(t, "read")
	k := a.srv.keys
	hash := hashKey(key)
	k.mu.RLock()
	generation := k.revocations
	k.mu.RUnlock()
	row, err := k.store.Read().GetKeyByHash(t.Context(), hash[:])
	if err != nil {
		t.Fatal(err)
	}
	a.do(t, "DELETE", "/keys/"+id, nil).want(t, 204)
	h, err := row.Holder()
	c := newCaller(h)
	if err != nil {
		t.Fatal(err)
	}
	k.remember(hash, c, generation)
	a.as(key).do(t, "GET", "/runs", nil).refused(t, 401, "unauthorized")
}

// TestLastUse: the last use of a key is written at the next sweep.
func TestLastUse(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	key, _ := a.newKey(t, "read")
	before := time.Now().UTC().Format(shownTime)
	a.as(key).do(t, "GET", "/profiles", nil).want(t, 200)
	if err := a.srv.Sweep(t.Context(), true); err != nil {
		t.Error(err)
	}
	if got := a.do(t, "GET", "/keys", nil).want(t, 200).text("data.0.lastUsedAt"); got < before {
		t.Errorf("lastUsedAt is %q, want %s or later", got, before)
	}
}

// TestKeyInput: what a key may not be made of.
func TestKeyInput(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for body, want := range map[string][]string{
		`{}`:                             {"body.name", "body.scopes"},
		`{"name":"","scopes":[]}`:        {"body.name", "body.scopes"},
		`{"name":null,"scopes":null}`:    {"body.name", "body.scopes"},
		`{"name":"x","scopes":["root"]}`: {"body.scopes[0]"},
		`{"name":"x","scopes":["read"],"workspaces":[]}`:                      {"body.workspaces"},
		`{"name":"x","scopes":["read"],"workspaces":["a/b"]}`:                 {"body.workspaces[0]"},
		`{"name":"x","scopes":["read"],"workspaces":["ok",""]}`:               {"body.workspaces[1]"},
		`{"name":"x","scopes":["read"],"expiresAt":"2001-01-01T00:00:00Z"}`:   {"body.expiresAt"},
		`{"name":"x","scopes":["read"],"expiresAt":"tomorrow"}`:               {"body.expiresAt"},
		`{"name":"x\u0000","scopes":["read"],"key":"wrn_x","hash":"","id":1}`: {"body.name", "body.key", "body.hash", "body.id"},
	} {
		a.do(t, "POST", "/keys", body).invalid(t, want...)
	}
	a.do(t, "GET", "/keys", nil).want(t, 200).equal(t, "total", 0)
}

// TestFirstUseMakesAWorkspace: a key that sees all makes a workspace by using its id; one that sees some does not see others.
func TestFirstUseMakesAWorkspace(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.profile(t, "workspaceId", "fresh")
	a.do(t, "GET", "/workspaces", nil).want(t, 200).equal(t, "data.0.id", "fresh")
	one, _ := a.newKey(t, "write", "solo")
	two, _ := a.newKey(t, "write", "solo", "duo")
	a.as(one).do(t, "POST", "/profiles", `{"name":"x"}`).want(t, 201).equal(t, "workspaceId", "solo") // the key's only one
	a.as(two).do(t, "POST", "/profiles", `{"name":"x"}`).invalid(t, "body.workspaceId")               // default is not its own
	a.as(two).do(t, "POST", "/profiles", `{"name":"x","workspaceId":"duo"}`).want(t, 201)
	a.as(one).do(t, "POST", "/profiles", `{"name":"x","workspaceId":"duo"}`).invalid(t, "body.workspaceId")
	a.as(one).do(t, "POST", "/proxies", `{"url":"socks5://h:1","workspaceId":"none"}`).invalid(t, "body.workspaceId")
	for _, c := range []struct {
		key  string
		want []string
	}{{one, []string{"solo"}}, {two, []string{"duo", "solo"}}, {a.key, []string{"duo", "fresh", "solo"}}} {
		r := a.as(c.key).do(t, "GET", "/workspaces", nil).want(t, 200)
		got := r.each("id")
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("workspaces %v, want %v", got, c.want)
		}
		r.equal(t, "total", len(c.want))
	}
	r := a.as(one).do(t, "GET", "/workspaces", nil).want(t, 200)
	r.equal(t, "data.0.profileCount", 1)
	r.equal(t, "data.0.proxyCount", 0)
	if n, err := a.srv.store.Read().CountKeys(t.Context(), nil); err != nil || n != 2 {
		t.Error(n, err)
	}
}

// TestAdminOfAWorkspace: an admin key of some workspaces makes, sees and revokes keys of these alone.
func TestAdminOfAWorkspace(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	of, _ := a.newKey(t, "admin", "mine", "also")
	_, foreign := a.newKey(t, "read", "theirs")
	_, all := a.newKey(t, "read")
	_, wider := a.newKey(t, "read", "mine", "theirs")
	mine := a.as(of)
	for body, at := range map[string]string{`{"name":"up","scopes":["admin"]}`: "body.workspaces",
		`{"name":"up","scopes":["read"],"workspaces":null}`:              "body.workspaces",
		`{"name":"up","scopes":["read"],"workspaces":["mine","theirs"]}`: "body.workspaces[1]",
		`{"name":"up","scopes":["read"],"workspaces":["fresh"]}`:         "body.workspaces[0]"} {
		mine.do(t, "POST", "/keys", body).invalid(t, at)
	}
	below := mine.do(t, "POST", "/keys", `{"name":"below","scopes":["admin"],"workspaces":["mine"]}`).want(t, 201).text("id")
	r := mine.do(t, "GET", "/keys", nil).want(t, 200)
	r.equal(t, "total", 2) // its own and the one below
	if ids := r.each("id"); !slices.Contains(ids, below) || slices.Contains(ids, foreign) || slices.Contains(ids, wider) {
		t.Errorf("it sees %v", ids)
	}
	unknown := mine.do(t, "DELETE", "/keys/none", nil).refused(t, 404, "key_not_found")
	for _, id := range []string{foreign, all, wider} {
		if r := mine.do(t, "DELETE", "/keys/"+id, nil).refused(t, 404, "key_not_found"); r.text("detail") != unknown.text("detail") {
			t.Errorf("%s is not as an unknown one", r)
		}
	}
	a.do(t, "GET", "/workspaces", nil).want(t, 200).equal(t, "total", 3) // and fresh did not come to be
	mine.do(t, "DELETE", "/keys/"+below, nil).want(t, 204)
	a.do(t, "GET", "/keys", nil).want(t, 200).equal(t, "total", 5)
}

func oneIf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// TestFirstKeyAtOnce: of several servers that start on an empty database at once, one makes the admin key and has its file.
func TestFirstKeyAtOnce(t *testing.T) {
	t.Parallel()
	database := testnet.Postgres(t)
	all := newServers(t, database, 3)
	db, err := sql.Open("pgx", database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range 20 {
		keys, folders := make([]string, len(all)), make([]string, len(all))
		var starting sync.WaitGroup
		for i, a := range all {
			folders[i] = t.TempDir()
			starting.Go(func() {
				var err error
				if keys[i], err = a.srv.keys.firstKey(t.Context(), folders[i]); err != nil {
					t.Error(err)
				}
			})
		}
		starting.Wait()
		made := 0
		for i, key := range keys {
			text, err := os.ReadFile(filepath.Join(folders[i], adminKeyFile))
			if key == "" && !errors.Is(err, os.ErrNotExist) || key != "" && string(text) != key+"\n" {
				t.Errorf("the key is %q, its file has %q (%v)", key, text, err)
			}
			if key != "" {
				made++
				all[0].as(key).do(t, "GET", "/keys", nil).want(t, 200).equal(t, "total", 1)
			}
		}
		if made != 1 {
			t.Fatalf("%d servers made a key", made)
		}
		if _, err := db.ExecContext(t.Context(), "DELETE FROM keys"); err != nil {
			t.Fatal(err)
		}
	}
}
