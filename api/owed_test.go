package api

import (
	"testing"

	"warren/store"
)

// Tests profiles whose status could not be written, and that it is written later.

// Without a run a profile is neither starting, running nor stopping, whatever its row says.
func TestNothingIsUnderWayWithoutARun(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	for _, c := range []struct{ written, last, want string }{
		{"starting", "", "stopped"}, {"stopping", "", "stopped"},
		{"starting", `{"runId":"x","status":"failed","reason":"crashed"}`, "failed"},
		{"stopping", `{"runId":"x","status":"stopped","reason":"stopped"}`, "stopped"},
	} {
		var last any
		if c.last != "" {
			last = c.last
		}
		a.rewrite(t, `UPDATE profiles SET status = ?, last_run = ? WHERE id = ?`, c.written, last, id)
		if got := a.do(t, "GET", "/profiles/"+id, nil).want(t, 200).text("status"); got != c.want {
			t.Errorf("written %s, last run %s: the profile shows %s", c.written, c.last, got)
		}
		if got := a.do(t, "GET", "/profiles/"+id+"/explain", nil).want(t, 200).text("status"); got != c.want {
			t.Errorf("written %s, last run %s: explain shows %s", c.written, c.last, got)
		}
	}
}

// serveAgain ends a server and starts the next one on the same data.
func (a *testAPI) serveAgain(t testing.TB, meanwhile func()) *testAPI {
	t.Helper()
	again := a.setup
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	meanwhile()
	return serveAPI(t, &again)
}

// runOf records that a run has begun.
func (a *testAPI) runOf(t testing.TB, profile string, at int64) (id string) {
	t.Helper()
	id = store.NewID()
	if err := a.srv.store.Write(t.Context(), func(q *store.Queries) error {
		if err := q.InsertRun(t.Context(), store.InsertRunParams{ID: id, ProfileID: profile, StartedAt: at,
			Record: `{"id":"x"}`}); err != nil {
			return err
		}
		_, err := q.SetProfileStatus(t.Context(), store.SetProfileStatusParams{ID: profile, Status: "running", LastStartedAt: &at})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return id
}
