package api

import (
	"slices"
	"strings"
	"testing"

	"warren/store"
)

// TestArguments: a profile's switches are on its browser's command line. Others are refused at the request, each with its reason, and at
// the start, whatever the database holds.
func TestArguments(t *testing.T) {
	t.Parallel()
	needIsolation(t)
	a := newAPI(t)
	id := a.profile(t, "args", []string{"--mute-audio", "--autoplay-policy=no-user-gesture-required"})
	line := func() []any {
		t.Helper()
		arguments, _ := a.do(t, "POST", "/profiles/"+id+"/start", `{"dryRun":true}`).want(t, 200).at("arguments").([]any)
		return arguments
	}
	if got := line(); !slices.Contains(got, any("--mute-audio")) ||
		!slices.Contains(got, any("--autoplay-policy=no-user-gesture-required")) {
		t.Errorf("the command line is %v", got)
	}
	r := a.do(t, "PUT", "/profiles/"+id, `{"os":"amiga",
		"args":["--mute-audio","--no-sandbox","--proxy-server=socks5://u:canary@h:1","--zygote"]}`)
	r.invalid(t, "body.args[1]", "body.args[2]", "body.args[3]", "body.os")
	for _, part := range []string{"--no-sandbox is refused. It weakens the sandbox", "--proxy-server is refused.",
		"--zygote is refused. Only"} {
		if !strings.Contains(string(r.body), part) {
			t.Errorf("no %q in %s", part, r)
		}
	}
	if strings.Contains(string(r.body), "canary") {
		t.Errorf("the value of a switch is repeated: %s", r)
	}
	a.do(t, "POST", "/profiles", `{"name":"x","args":["--load-extension=/tmp"]}`).invalid(t, "body.args[0]")
	a.do(t, "POST", "/templates", `{"name":"x","args":["--js-flags=--x"]}`).invalid(t, "body.args[0]")

	row, err := a.srv.store.Profile(t.Context(), store.All(), id, false)
	if err != nil {
		t.Fatal(err)
	}
	row.Args = `["--mute-audio","--no-sandbox"]`
	if err := a.srv.store.Write(t.Context(), func(q *store.Queries) error {
		_, err := q.UpdateProfile(t.Context(), updateOf(row))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{`{"dryRun":true}`, `{}`} {
		a.do(t, "POST", "/profiles/"+id+"/start", body).invalid(t, "profile.args[1]")
	}
	a.do(t, "PUT", "/profiles/"+id, `{"args":null}`).want(t, 200).equal(t, "args", []any{})
	if got := line(); slices.Contains(got, any("--mute-audio")) || slices.Contains(got, any("--no-sandbox")) {
		t.Errorf("the command line is %v", got)
	}
}
