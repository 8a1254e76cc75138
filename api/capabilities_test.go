package api

import (
	"net/http"
	"strings"
	"testing"
)

// Tests capabilities, which open one run without a key.

// The answer to an Idempotency-Key is repeated with the same secret, and no second capability is created.
func TestCapabilityOnce(t *testing.T) {
	t.Parallel()
	a, run := newFakeRun(t)
	path := "/profiles/" + run.profileID + "/capabilities"
	first := a.once(t, "once", "POST", path, `{"name":"x"}`).want(t, 201)
	sameAnswer(t, first, a.once(t, "once", "POST", path, `{"name":"x"}`))
	a.once(t, "once", "POST", path, `{"name":"y"}`).refused(t, 409, "idempotency_conflict")
	a.do(t, "GET", path, nil).want(t, 200).equal(t, "total", 1)
	a.do(t, "POST", path, `{"expiresInMs":999,"name":"`+strings.Repeat("n", 101)+`","more":1}`).invalid(t, "body.expiresInMs", "body.name",
		"body.more")
	for _, body := range []string{`{"expiresInMs":2592000001}`, `{"expiresInMs":0}`, `{"expiresInMs":"1000"}`} {
		a.do(t, "POST", path, body).invalid(t, "body.expiresInMs")
	}
	for _, body := range []string{``, `{}`, `{"expiresInMs":1000}`, `{"expiresInMs":2592000000,"readonly":false}`,
		`{"expiresInMs":null,"readonly":null,"name":null}`} {
		r := a.do(t, "POST", path, body).want(t, 201)
		if want := Prefix + path + "/" + r.text("id"); r.header.Get("Location") != want {
			t.Errorf("Location is %q, want %q", r.header.Get("Location"), want)
		}
	}
	if text := a.log.String(); strings.Contains(text, first.text("liveUrl")[len(a.base)+6:]) {
		t.Errorf("the log holds the secret:\n%s", text)
	}
}

// A capability is revoked even if the run's process cannot store it, and can be revoked again.
func TestRevokedThoughNotKept(t *testing.T) {
	t.Parallel()
	a, run := newFakeRun(t)
	path := "/profiles/" + run.profileID + "/capabilities"
	made := a.do(t, "POST", path, nil).want(t, 201)
	run.Refuse("/capabilities", true)
	a.do(t, "POST", path, nil).refused(t, 409, "profile_busy")
	a.do(t, "DELETE", path+"/"+made.text("id"), nil).refused(t, 409, "profile_busy")
	cdp := strings.TrimPrefix(made.text("cdpUrl"), a.base)
	a.as("").do(t, "GET", "/"+cdp, nil).refused(t, 404, "run_not_found")
	run.Refuse("/capabilities", false)
	a.do(t, "GET", path, nil).want(t, 200).equal(t, "total", 1)
	a.do(t, "DELETE", path+"/"+made.text("id"), nil).want(t, http.StatusNoContent)
	a.do(t, "GET", path, nil).want(t, 200).equal(t, "total", 0)
	if n := len(run.Capabilities()); n != 1 { // the key's own
		t.Errorf("the run's process keeps %d", n)
	}
}
