package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"warren/store"
	"warren/testnet"
)

// TestAnswersWaitForTheDatabase: an answer that the database did not take is stored when it is back, while its server lives. A request that
// failed frees its key then. Until then nobody is told that the result is unknown.
func TestAnswersWaitForTheDatabase(t *testing.T) {
	t.Parallel()
	db := testnet.OwnPostgres(t)
	both := newServers(t, db.NewDatabase(), 2)
	one, two := both[0], both[1]
	body := `{"name":"once"}`
	model := one.do(t, "POST", "/profiles", body).want(t, 201)
	ctx := context.WithValue(t.Context(), requestKey{}, &request{caller: newEnvironmentCaller(one.key)})
	for key, status := range map[string]int{"done": 201, "failed": 503} {
		req := httptest.NewRequest("POST", Prefix+"/profiles", strings.NewReader(body)).WithContext(ctx)
		err := one.srv.idempotency.serve(httptest.NewRecorder(), req, key, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			db.Kill()
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			w.Write(model.body) //nolint:errcheck // it is a recorder
		}))
		if err != nil {
			t.Fatal(err)
		}
		db.Start()
		for _, a := range []*testAPI{one, two} {
			var r *answer
			waitFor(t, "the answer", func() bool {
				r = a.once(t, key, "POST", "/profiles", body)
				if r.status == 409 && a == one && r.header.Get("Retry-After") == "" {
					t.Fatalf("while the answer waits: %s", r)
				}
				return r.status != 409 && r.status != 503
			})
			if replayed := r.want(t, 201).header.Get("Idempotency-Replayed") != ""; replayed != (status == 201 || a == two) {
				t.Errorf("%s: replayed is %v", key, replayed)
			}
			if same := r.text("id") == model.text("id"); same != (status == 201) {
				t.Errorf("%s: it is the first answer: %v", key, same)
			}
		}
	}
	one.do(t, "GET", "/profiles", nil).want(t, 200).equal(t, "total", 2)
}

// TestLargeAnswersOfTwoServers: a request whose answer is too large to be stored is not done again. Each server answers the repeated one
// with what it has made.
func TestLargeAnswersOfTwoServers(t *testing.T) {
	t.Parallel()
	both := newServers(t, testnet.Postgres(t), 2)
	body := map[string]any{"name": "{n}", "count": 200, "notes": strings.Repeat("n", 500)}
	first := both[0].once(t, "large", "POST", "/profiles/batch-create", body).want(t, 201)
	if len(first.body) <= maxSavedAnswer {
		t.Fatalf("its answer has %d bytes", len(first.body))
	}
	for _, a := range []*testAPI{both[1], both[0], both[1]} {
		var again *answer
		waitFor(t, "the answer", func() bool { // a large answer arrives before its request has ended
			again = a.once(t, "large", "POST", "/profiles/batch-create", body)
			return again.status != 409 || again.header.Get("Retry-After") == ""
		})
		again.want(t, 201)
		if !slices.Equal(again.each("id"), first.each("id")) {
			t.Errorf("it has %d profiles, or others", len(again.each("id")))
		}
	}
}

// TestForgottenReservation: a row of which it was not known whether it was made is removed, unless it is another request's.
func TestForgottenReservation(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	i := a.srv.idempotency
	for n, made := range []int64{7, 8} {
		p := store.GetIdempotencyParams{KeyID: "k", IdemKey: fmt.Sprint(n), Target: "t"}
		if err := a.srv.store.Write(t.Context(), func(q *store.Queries) error {
			return store.ErrorOf(q.BeginIdempotency(t.Context(), store.BeginIdempotencyParams{KeyID: p.KeyID, IdemKey: p.IdemKey,
				Target: p.Target, BodyHash: make([]byte, 32), CreatedAt: made}))
		}); err != nil {
			t.Fatal(err)
		}
		i.begin(p)
		if i.forget(p, 7); i.isAlone(p) {
			t.Error("a row that may go is not in use")
		}
		waitFor(t, "its end", func() bool { return i.isAlone(p) })
		i.end(p)
		if _, err := a.srv.store.Read().GetIdempotency(t.Context(), p); errors.Is(err, store.ErrNoRow) != (made == 7) {
			t.Errorf("a row that was made at %d: %v", made, err)
		}
	}
}

// TestAnswersThatWait: their number has a limit, and the end of the server ends them.
func TestAnswersThatWait(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	i, place := a.srv.idempotency, store.GetIdempotencyParams{KeyID: "k", IdemKey: "i", Target: "t"}
	fails := func(context.Context) error { return store.ErrBusy }
	if i.keepTrying(place, store.ErrClosed, fails) {
		t.Error("it waits for a store that is closed")
	}
	for range maxWaiting {
		i.begin(place)
		if !i.keepTrying(place, store.ErrBusy, fails) {
			t.Fatal("an answer may not wait")
		}
	}
	if i.keepTrying(place, store.ErrBusy, fails) {
		t.Error("too many answers wait")
	}
	i.close()
	waitFor(t, "the end of those that wait", func() bool {
		i.mu.Lock()
		defer i.mu.Unlock()
		return i.waiting == 0 && len(i.underway) == 0
	})
}
