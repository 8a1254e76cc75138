package tests

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"warren/testnet"
)

// TestLostAnswersOfCommits: PostgreSQL has committed, and the connection is lost before it says so. A request with an Idempotency-Key that
// is sent again makes one profile. A start that is sent again makes one browser, and each run in the history has ended after the stop.
func TestLostAnswersOfCommits(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	database := testnet.Postgres(t)
	link := testnet.LinkTo(t, database)
	s := newTestbed(t).serve("--store", link.Through(t, database))
	const commit = "commit\x00"
	counted := func(name string) int {
		var list struct{ Total int }
		s.do("GET", "/profiles?search="+url.QueryEscape(name), nil, 200, &list)
		return list.Total
	}
	answers := map[string]int{}
	for skip := range 5 {
		name := "named " + strconv.Itoa(skip)
		link.LoseAnswer(commit, skip)
		made := false
		for status := 503; status == 503; {
			header := map[string]string{"Idempotency-Key": name, "Content-Type": "application/json"}
			var text string
			status, _, text = s.send("POST", "/profiles", strings.NewReader(`{"name":"`+name+`"}`), header)
			answers["create "+strconv.Itoa(status)]++
			made = status == 201
			if status == 503 && strings.Contains(text, "Nothing was changed") && counted(name) != 0 {
				t.Errorf("there is a profile, and the answer was %s", text)
			}
			if status != 201 && status != 503 && !strings.Contains(text, "idempotency_conflict") {
				t.Errorf("a create: %d %s", status, text)
			}
		}
		link.LoseNothing()
		if n := counted(name); n > 1 || n == 0 && made {
			t.Errorf("%d profiles of one create", n)
		}
	}
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	for skip := range 5 {
		link.LoseAnswer(commit, skip)
		for status := 503; status != 200; {
			r, err := s.try("POST", "/profiles/"+id+"/start", nil)
			if err != nil {
				t.Fatal(err)
			}
			status = r.status
			answers["start "+strconv.Itoa(status)]++
			if status != 200 && status != 503 {
				t.Fatalf("a start: %d %s", status, r.body)
			}
		}
		link.LoseNothing()
		if n := len(s.browsers()); n != 1 {
			t.Errorf("%d browsers", n)
		}
		testnet.Eventually(t, "the stop", func() bool { return s.works(http.MethodPost, "/profiles/"+id+"/stop") })
		var past struct {
			Data []struct {
				RunID   string
				EndedAt *string
			}
		}
		s.do("GET", "/profiles/"+id+"/runs", nil, 200, &past)
		for _, run := range past.Data {
			if run.EndedAt == nil {
				t.Errorf("with %d commits before it: the run %s has no end", skip, run.RunID)
			}
		}
	}
	t.Logf("answers: %v", answers)
}
