package api

import (
	"crypto/rand"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"warren/store"
	"warren/testnet"
)

// Tests what several servers on one database do together.

// newServers serves on one database at several addresses, each with a data folder of its own.
func newServers(t testing.TB, database string, count int, change ...func(*setup)) (all []*testAPI) {
	t.Helper()
	for i := range count {
		all = append(all, newAPI(t, append(change, func(c *setup) {
			c.Database, c.NodeName = database, string(rune('a'+i))
			if i == 0 {
				return
			}
			secret, err := os.ReadFile(filepath.Join(all[0].dir, "secret.key"))
			if err == nil {
				err = os.MkdirAll(c.Data, 0o700)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(c.Data, "secret.key"), secret, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		})...))
	}
	return all
}

// TestKeysOfTwoServers: a key that is revoked at one server ends at the other one. Its requests are refused, and its stream and its
// capability end. So do a session key that goes for newer ones, and one whose parent is revoked.
func TestKeysOfTwoServers(t *testing.T) {
	t.Parallel()
	both := newServers(t, testnet.Postgres(t), 2)
	one, two := both[0], both[1]
	profile := two.profile(t)
	two, run := two.adopt(t, profile, "default", rand.Text())
	key, id := one.newKey(t, "read,run")
	session, _ := two.session(t, key)
	r := two.as(key).do(t, "POST", "/profiles/"+profile+"/capabilities", `{}`).want(t, 201)
	_, secret, _ := strings.Cut(r.text("liveUrl"), "#")
	watching, res := two.open(t, "/live/"+secret, nil)
	if res.StatusCode != 101 || run == nil {
		t.Fatal(res.StatusCode)
	}
	stream, ofSession := two.listen(t, key), two.listen(t, session)

	revoked := time.Now()
	one.do(t, "DELETE", "/keys/"+id, nil).want(t, 204)
	for _, s := range []*eventReader{stream, ofSession} {
		select {
		case <-s.closed:
		case <-time.After(enough):
			t.Fatal("the stream of a key goes on that another server has revoked")
		}
	}
	t.Logf("the streams ended after %v", time.Since(revoked))
	for _, k := range []string{key, session} {
		two.as(k).do(t, "GET", "/profiles", nil).refused(t, 401, "unauthorized")
	}
	waitFor(t, "the end of its capability", func() bool {
		_, res := two.open(t, "/live/"+secret, nil)
		return res.StatusCode == http.StatusNotFound
	})
	if _, _, err := watching.Read(t.Context()); err == nil {
		t.Error("a connection of its capability goes on")
	}

	first, _ := two.session(t, two.key)
	two.as(first).do(t, "GET", "/profiles", nil).want(t, 200)
	for range maxSessions {
		one.session(t, one.key)
	}
	waitFor(t, "the end of a session key that went for newer ones", func() bool {
		return two.as(first).do(t, "GET", "/profiles", nil).status == http.StatusUnauthorized
	})
}

// TestKeysWithoutEvents: a key that was revoked by a server that died before it told the others ends all the same, within a second or two.
// While the database is away, a key is refused after a while, and what it has open goes on.
func TestKeysWithoutEvents(t *testing.T) {
	t.Parallel()
	db := testnet.OwnPostgres(t)
	a := newServers(t, db.NewDatabase(), 1)[0]
	key, id := a.newKey(t, "read")
	other, _ := a.newKey(t, "read")
	stream, stays := a.listen(t, key), a.listen(t, other)
	if err := a.store.Write(t.Context(), func(q *store.Queries) error {
		return store.ErrorOf(q.RevokeKey(t.Context(), store.RevokeKeyParams{ID: id, RevokedAt: now()}))
	}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-stream.closed:
	case <-time.After(enough):
		t.Fatal("the stream of a revoked key goes on")
	}
	a.as(key).do(t, "GET", "/profiles", nil).refused(t, 401, "unauthorized")

	db.Kill()
	waitFor(t, "known keys to count no more", func() bool {
		a.srv.keys.mu.RLock()
		defer a.srv.keys.mu.RUnlock()
		return time.Since(a.srv.keys.compared) > maxKeyAge
	})
	a.as(other).do(t, "GET", "/openapi.json", nil).refused(t, 503, "database_busy")
	select {
	case <-stays.closed:
		t.Error("a stream ended with the database")
	default:
	}
	db.Start()
	waitFor(t, "keys to count again", func() bool { return a.as(other).do(t, "GET", "/profiles", nil).status == 200 })
}
