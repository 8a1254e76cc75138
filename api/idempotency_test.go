package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"warren/problem"
	"warren/runs"
	"warren/store"
	"warren/testnet"
)

// once sends a request with an Idempotency-Key.
func (a *testAPI) once(t testing.TB, idem, method, path string, body any) *answer {
	t.Helper()
	req := a.request(t, method, path, body)
	req.Header.Set("Idempotency-Key", idem)
	return a.send(t, req)
}

// sameAnswer fails unless b repeats a byte for byte.
func sameAnswer(t testing.TB, a, b *answer) {
	t.Helper()
	if a.status != b.status || !bytes.Equal(a.body, b.body) {
		t.Errorf("got %s\nwant the first answer again: %s", b, a)
	}
	for _, h := range []string{"Content-Type", "Location", "Etag"} {
		if a.header.Get(h) != b.header.Get(h) {
			t.Errorf("%s is %q, want %q as at first", h, b.header.Get(h), a.header.Get(h))
		}
	}
	if b.header.Get("Idempotency-Replayed") != "true" || a.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("Idempotency-Replayed: %q at first, %q then", a.header.Get("Idempotency-Replayed"), b.header.Get("Idempotency-Replayed"))
	}
}

// TestIdempotency: the same key and body get the first answer again, on every operation that creates or starts. Another body is
// refused. Another key, caller or operation is another request.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	needIsolation(t)
	a := newAPI(t)
	profile := a.profile(t)
	gone := a.profile(t)
	a.do(t, "DELETE", "/profiles/"+gone, nil).want(t, 204)
	for i, c := range []struct {
		path        string
		body, other any
		status      int
	}{
		{"/profiles", `{"name":"once"}`, `{"name":"twice"}`, 201}, {"/proxies", `{"url":"socks5://once:1"}`, `{"url":"socks5://twice:1"}`,
			201},
		{"/keys", `{"name":"once","scopes":["read"]}`, `{"name":"twice","scopes":["read"]}`, 201}, {"/profiles/" + profile + "/start",
			`{"dryRun":true}`, `{}`, 200},
		{"/profiles/" + gone + "/restore", nil, `{}`, 200}, {"/profiles", `{`, `{}`, 400}, {"/profiles/none/start", nil, `{}`, 404},
	} {
		key := fmt.Sprint("key-", i)
		before := a.inventory(t)
		first := a.once(t, key, "POST", c.path, c.body).want(t, c.status)
		after := a.inventory(t)
		if (before == after) != (c.status != 201 && !strings.HasSuffix(c.path, "restore")) {
			t.Errorf("%s: the first request did not do what it says", c.path)
		}
		for range 2 {
			sameAnswer(t, first, a.once(t, key, "POST", c.path, c.body))
		}
		a.once(t, key, "POST", c.path, c.other).refused(t, 409, "idempotency_conflict")
		if now := a.inventory(t); now != after {
			t.Errorf("%s: the repetitions changed something", c.path)
		}
	}
	mine, _ := a.newKey(t, "write")
	for _, r := range []*answer{a.once(t, "key-0", "POST", "/proxies", `{"url":"socks5://third:1"}`), a.as(mine).once(t, "key-0", "POST",
		"/profiles", `{"name":"once"}`), a.once(t, "key-00", "POST", "/profiles", `{"name":"once"}`)} {
		if r.want(t, 201).header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%s is another request", r)
		}
	}
	a.once(t, strings.Repeat("k", 200), "POST", "/profiles", `{"name":"long"}`).want(t, 201)
	a.once(t, strings.Repeat("k", 201), "POST", "/profiles", `{"name":"long"}`).invalid(t, "header.Idempotency-Key")
	a.once(t, "big", "POST", "/profiles", strings.Repeat(" ", 1<<20+1)).refused(t, 413, "body_too_large")
	a.once(t, "x", "GET", "/profiles", nil).want(t, 200) // other operations ignore it
	a.once(t, "x", "PUT", "/profiles/"+profile, `{"notes":"1"}`).want(t, 200)
	a.once(t, "x", "PUT", "/profiles/"+profile, `{"notes":"2"}`).want(t, 200).equal(t, "notes", "2")
	a.as("wrong").once(t, "key-0", "POST", "/profiles", `{"name":"once"}`).refused(t, 401, "unauthorized")
	a.as("").once(t, "key-0", "POST", "/profiles", `{"name":"once"}`).refused(t, 401, "unauthorized")
}

// TestIdempotencyAtOnce: one of many concurrent requests is executed. The others get its answer, or are told to ask again.
func TestIdempotencyAtOnce(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const callers = 16
	answers := make([]*answer, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { answers[i] = a.once(t, "storm", "POST", "/profiles", `{"name":"one"}`) })
	}
	wg.Wait()
	ids := map[string]bool{}
	for _, r := range answers {
		switch r.status {
		case 201:
			ids[r.text("id")] = true
		default:
			if r.refused(t, 409, "idempotency_conflict").header.Get("Retry-After") == "" {
				t.Errorf("%s says not when to ask again", r)
			}
		}
	}
	if len(ids) != 1 {
		t.Errorf("%d profiles were made, want 1", len(ids))
	}
	a.do(t, "GET", "/profiles", nil).want(t, 200).equal(t, "total", 1)
	a.once(t, "storm", "POST", "/profiles", `{"name":"one"}`).want(t, 201)
}

// TestIdempotencyOfTwo: two requests use a key at once. The second is told to ask again while the first runs, whichever of them came
// first. It gets the first answer, or reserves the key, if the first request ends while it looks. Nothing was killed, so that no result
// is unknown.
func TestIdempotencyOfTwo(t *testing.T) {
	t.Parallel()
	i, hash := newAPI(t).srv.idempotency, [32]byte{1}
	for key, status := range map[string]int{"runs": 0, "answered": http.StatusCreated, "freed": http.StatusServiceUnavailable} {
		p := store.GetIdempotencyParams{KeyID: "k", IdemKey: key, Target: "t"}
		i.begin(p) // the second request comes first, and is slow
		i.begin(p)
		if first, err := i.reserve(t.Context(), p, hash); first != nil || err != nil {
			t.Fatalf("%s: got %v, %v for the first request", key, first, err)
		}
		seen, err := i.reserve(t.Context(), p, hash)
		if err != nil || seen == nil || seen.Status != 0 {
			t.Fatalf("%s: got %v, %v, want the row of a request that runs", key, seen, err)
		}
		if status != 0 {
			i.save(t.Context(), p, "", &recorder{ResponseWriter: httptest.NewRecorder(), status: status, done: true})
			i.end(p)
		}
		row, err := i.readAgain(t.Context(), p, seen)
		asked, _ := errors.AsType[*problem.Error](err)
		if running := asked != nil && asked.RetryAfter > 0; running != (key == "runs") || err != nil && !running {
			t.Errorf("%s: got the error %v", key, err)
		}
		if saved := row != nil && row.Status == http.StatusCreated; saved != (key == "answered") || row != nil && !saved {
			t.Errorf("%s: got the row %v", key, row)
		}
		row, err = i.claim(t.Context(), p, hash, "")
		if (err != nil) != (key == "runs") || (row != nil) != (key == "answered") {
			t.Errorf("%s: claimed %v, %v", key, row, err)
		}
	}
}

// TestIdempotencyOverRestart: answers survive a restart, also that of a new key, which is stored only sealed. Requests under way at
// the restart free their keys.
func TestIdempotencyOverRestart(t *testing.T) {
	t.Parallel()
	cfg := testSetup(t)
	a := serveAPI(t, cfg)
	first := a.once(t, "k1", "POST", "/keys", `{"name":"made","scopes":["read"]}`).want(t, 201)
	secret := first.text("key")
	profile := a.once(t, "p1", "POST", "/profiles", `{"name":"made"}`).want(t, 201)
	// The answer of a start holds a capability, which must be sealed at rest.
	capability := runs.NewCapability()
	rec := httptest.NewRecorder()
	req := httptest.NewRequest("POST", "/api/v1/profiles/x/start", strings.NewReader("{}")).WithContext(adminContext(a))
	if err := a.srv.idempotency.serve(rec, req, "s1", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w,
			`{"cdpUrl":"/cdp/%s"}`, capability)
	})); err != nil {
		t.Fatal(err)
	}
	// A request that never finished.
	if err := a.srv.store.Write(t.Context(), func(q *store.Queries) error {
		n, err := q.BeginIdempotency(t.Context(), store.BeginIdempotencyParams{KeyID: "environment", IdemKey: "dead",
			Target: store.IdempotencyTarget("POST", "/api/v1/profiles"), BodyHash: make([]byte, 32), CreatedAt: now()})
		if n != 1 {
			return errors.New("it was there")
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	a.once(t, "dead", "POST", "/profiles", `{"name":"x"}`).refused(t, 409, "idempotency_conflict")
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	eachFile(t, a.dir, func(path string, b []byte) {
		for what, s := range map[string]string{"the key": secret, "the capability": capability} {
			if bytes.Contains(b, []byte(s)) || bytes.Contains(b, []byte(s[4:40])) {
				t.Errorf("%s holds %s in clear", path, what)
			}
		}
	})
	again := testSetup(t)
	again.Data = cfg.Data
	b := serveAPI(t, again)
	sameAnswer(t, first, b.once(t, "k1", "POST", "/keys", `{"name":"made","scopes":["read"]}`))
	sameAnswer(t, profile, b.once(t, "p1", "POST", "/profiles", `{"name":"made"}`))
	b.once(t, "k1", "POST", "/keys", `{"name":"other","scopes":["read"]}`).refused(t, 409, "idempotency_conflict")
	b.once(t, "dead", "POST", "/profiles", `{"name":"x"}`).want(t, 201)
	b.do(t, "GET", "/profiles", nil).want(t, 200).equal(t, "total", 2)
}

// TestIdempotencyFreed: an answer that may differ next time (5xx, 409, 429), or that never came, frees the key. After 24 hours every
// key is free.
func TestIdempotencyFreed(t *testing.T) {
	t.Parallel()
	needIsolation(t)
	a := newAPI(t)
	var calls atomic.Int32
	status := 503
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
	})
	send := func(key string) int {
		rec := httptest.NewRecorder()
		defer func() { recover() }()
		req := httptest.NewRequest("POST", "/api/v1/profiles", strings.NewReader("{}")).WithContext(adminContext(a))
		if err := a.srv.idempotency.serve(rec, req, key, handler); err != nil {
			t.Error(err)
		}
		return rec.Code
	}
	for _, status = range []int{503, 500, 507, 429, 409, 499, 0} {
		before := calls.Load()
		send(fmt.Sprint("k", status))
		send(fmt.Sprint("k", status))
		if n := calls.Load() - before; n != 2 {
			t.Errorf("after %d the second request was not done (%d calls)", status, n)
		}
	}
	back := a.loseBrowser(t)
	id := a.profile(t)
	a.once(t, "start", "POST", "/profiles/"+id+"/start", nil).refused(t, 503, "browser_not_found")
	back()
	a.once(t, "start", "POST", "/profiles/"+id+"/start", `{"dryRun":true}`).want(t, 200) // even with another body: nothing was kept
	a.once(t, "old", "POST", "/profiles", `{"name":"old"}`).want(t, 201)
	if err := a.srv.store.Write(t.Context(), func(q *store.Queries) error {
		_, err := q.PurgeIdempotency(t.Context(), now()+1000) // as the sweep does it 24 hours later
		return err
	}); err != nil {
		t.Fatal(err)
	}
	a.once(t, "old", "POST", "/profiles", `{"name":"new"}`).want(t, 201)
	if err := a.srv.Sweep(t.Context(), true); err != nil {
		t.Error(err)
	}
	// a sweep keeps recent answers
	a.once(t, "old", "POST", "/profiles", `{"name":"newer"}`).refused(t, 409, "idempotency_conflict")
}

// TestIdempotencyOfOneWhoLeft: a client that disconnects during its request gets the true answer when it repeats the request.
func TestIdempotencyOfOneWhoLeft(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	held, release := a.holdWriter(t)
	<-held
	ctx, leave := context.WithCancel(t.Context())
	req := a.request(t, "POST", "/profiles", `{"name":"made all the same"}`).WithContext(ctx)
	req.Header.Set("Idempotency-Key", "left")
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if resp, err := a.client.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	waitFor(t, "the request is under way", func() bool {
		a.srv.idempotency.mu.Lock()
		defer a.srv.idempotency.mu.Unlock()
		return len(a.srv.idempotency.underway) == 1
	})
	leave()
	<-gone
	release()
	waitFor(t, "the request is done", func() bool {
		a.srv.idempotency.mu.Lock()
		defer a.srv.idempotency.mu.Unlock()
		return len(a.srv.idempotency.underway) == 0
	})
	r := a.once(t, "left", "POST", "/profiles", `{"name":"made all the same"}`).want(t, 201)
	if r.header.Get("Idempotency-Replayed") != "true" || r.text("name") != "made all the same" {
		t.Errorf("got %s, want the first answer again", r)
	}
	a.do(t, "GET", "/profiles", nil).want(t, 200).equal(t, "total", 1)
}

// holdWriter keeps all that writes to the database busy, from when held is closed until release is called: one writer of SQLite, or eight
// functions on PostgreSQL.
func (a *testAPI) holdWriter(t testing.TB) (held <-chan struct{}, release func()) {
	t.Helper()
	writers := 1
	if testnet.OnPostgres() {
		writers = 8
	}
	holding, letGo := make(chan struct{}), make(chan struct{})
	var began, done sync.WaitGroup
	began.Add(writers)
	for range writers {
		hold := sync.OnceFunc(began.Done)
		done.Go(func() {
			if err := a.srv.store.Write(context.Background(), func(*store.Queries) error { hold(); <-letGo; return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	go func() { began.Wait(); close(holding) }()
	release = sync.OnceFunc(func() { close(letGo); done.Wait() })
	t.Cleanup(release)
	return holding, release
}

// TestIdempotencyOfTheKilled: the server was killed after creating an object and before storing the answer. A repeated request gets
// that object and no second one. For a key, which is shown once, it gets instructions.
func TestIdempotencyOfTheKilled(t *testing.T) {
	t.Parallel()
	cfg := testSetup(t)
	a := serveAPI(t, cfg)
	bodies := map[string]string{"/profiles": `{"name":"one"}`, "/proxies": `{"url":"socks5://one:1"}`,
		"/keys": `{"name":"one","scopes":["read"]}`}
	ids := map[string]string{}
	for path, body := range bodies {
		ids[path] = a.once(t, "killed", "POST", path, body).want(t, 201).text("id")
	}
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	db := openDatabase(t, cfg.Data)
	defer db.Close()
	if _, err := db.Exec("UPDATE idempotency SET status = 0, answer = NULL"); err != nil { // as before the answer was stored
		t.Fatal(err)
	}
	again := testSetup(t)
	again.Data = cfg.Data
	b := serveAPI(t, again)
	for _, path := range []string{"/profiles", "/proxies"} {
		for range 2 {
			r := b.once(t, "killed", "POST", path, bodies[path]).want(t, 201)
			r.equal(t, "id", ids[path])
			if got := r.header.Get("Location"); got != Prefix+path+"/"+ids[path] {
				t.Errorf("%s: Location %q", path, got)
			}
		}
		b.do(t, "GET", path, nil).want(t, 200).equal(t, "total", 1)
	}
	if r := b.once(t, "killed", "POST", "/keys", bodies["/keys"]).refused(t, 409,
		"idempotency_conflict"); !strings.Contains(r.text("detail"), ids["/keys"]) {
		t.Errorf("%s does not name the key", r)
	}
}

// TestIdempotencyAndTheClock: after the clock has jumped no answer is thrown away for its age, since a repeated request would be done
// again.
func TestIdempotencyAndTheClock(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	p := store.GetIdempotencyParams{KeyID: "k", IdemKey: "i", Target: "t"}
	if err := a.srv.store.Write(t.Context(), func(q *store.Queries) error {
		_, err := q.BeginIdempotency(t.Context(), store.BeginIdempotencyParams{KeyID: p.KeyID, IdemKey: p.IdemKey, Target: p.Target,
			BodyHash: make([]byte, 32), CreatedAt: now() - (25 * time.Hour).Milliseconds()})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, trusted := range []bool{false, true} {
		if err := a.srv.Sweep(t.Context(), trusted); err != nil {
			t.Fatal(err)
		}
		if _, err := a.srv.store.Read().GetIdempotency(t.Context(), p); errors.Is(err, store.ErrNoRow) != trusted {
			t.Errorf("with a clock that is trusted (%v): %v", trusted, err)
		}
	}
}
