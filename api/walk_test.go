package api

import (
	"fmt"
	"net/url"
	"slices"
	"testing"

	"warren/store"
)

// Tests that a walk through a list continues when others delete its rows.

// walk reads a list in pages of two, and deletes the last row of each page before it continues.
func (a *testAPI) walk(t testing.TB, path, member string, remove func(id string)) (seen []string) {
	t.Helper()
	after := ""
	for range 20 {
		r := a.do(t, "GET", path+"limit=2&after="+url.QueryEscape(after), nil).want(t, 200)
		page := r.each(member)
		seen = append(seen, page...)
		if r.at("hasMore") != true {
			r.equal(t, "next", nil)
			return seen
		}
		after = r.text("next")
		remove(page[len(page)-1])
	}
	t.Fatalf("%s: the walk does not end: %v", path, seen)
	return nil
}

// With next a walk sees every row that exists throughout, in every order. That includes rows behind one that was deleted, trashed or
// trimmed.
func TestWalkOverDeletions(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	fill := func() (profiles, proxies []string) {
		for i := range 7 {
			profiles = append(profiles, a.profile(t, "name", fmt.Sprint("same ", i/3)))
			proxies = append(proxies, a.proxy(t, "host", fmt.Sprintf("h%d.example", i), "name", fmt.Sprint("same ", i/3)))
		}
		return profiles, proxies
	}
	for _, query := range []string{"", "sort=name&", "sort=name&order=asc&", "sort=updatedAt&", "sort=lastStartedAt&", "order=asc&",
		"search=same&", "trashed=true&"} {
		for _, permanent := range []string{"", "?permanent=true"} {
			ids, _ := fill()
			if query == "trashed=true&" {
				for _, id := range ids {
					a.do(t, "DELETE", "/profiles/"+id, nil).want(t, 204)
				}
			}
			seen := a.walk(t, "/profiles?"+query, "id", func(id string) {
				if query != "trashed=true&" || permanent != "" {
					a.do(t, "DELETE", "/profiles/"+id+permanent, nil).want(t, 204)
				} else {
					a.do(t, "POST", "/profiles/"+id+"/restore", nil).want(t, 200)
				}
			})
			for _, id := range ids {
				if !slices.Contains(seen, id) {
					t.Errorf("/profiles?%s, deleted %q: the walk has not seen %s", query, permanent, id)
				}
			}
			a.rewrite(t, `DELETE FROM profiles`)
			a.rewrite(t, `DELETE FROM proxies`)
		}
	}
	for _, query := range []string{"", "sort=name&", "sort=host&order=asc&", "sort=country&", "sort=latency&order=asc&", "search=same&"} {
		_, ids := fill()
		seen := a.walk(t, "/proxies?"+query, "id", func(id string) { a.do(t, "DELETE", "/proxies/"+id, nil).want(t, 204) })
		for _, id := range ids {
			if !slices.Contains(seen, id) {
				t.Errorf("/proxies?%s: the walk has not seen %s", query, id)
			}
		}
		a.rewrite(t, `DELETE FROM profiles`)
		a.rewrite(t, `DELETE FROM proxies`)
	}
	id := a.profile(t)
	var runs []string
	for i := range 7 {
		runs = append(runs, a.runOf(t, id, int64(i+1)))
	}
	seen := a.walk(t, "/profiles/"+id+"/runs?", "runId", func(id string) { a.rewrite(t, `DELETE FROM runs WHERE id = ?`, id) })
	if len(seen) != len(runs) {
		t.Errorf("the walk has seen the runs %v, of %v", seen, runs)
	}
}

// An id works while its row exists, also in the trash. A deleted one is answered with 410. After an id that never existed, or is
// invisible to the key, nothing follows.
func TestWalkAfterAnIDThatIsGone(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	other := a.profile(t, "workspaceId", "other")
	first, second, third := a.profile(t), a.profile(t), a.profile(t)
	key, _ := a.newKey(t, "read", "default")
	mine := a.as(key)
	list := func(after string) *answer { return mine.do(t, "GET", "/profiles?order=asc&after="+after, nil) }
	a.do(t, "DELETE", "/profiles/"+first, nil).want(t, 204)
	if got := list(first).want(t, 200).each("id"); !slices.Equal(got, []string{second, third}) {
		t.Errorf("after one in the trash: %v", got)
	}
	a.do(t, "DELETE", "/profiles/"+first+"?permanent=true", nil).want(t, 204)
	a.do(t, "DELETE", "/profiles/"+other+"?permanent=true", nil).want(t, 204)
	list(first).refused(t, 410, "cursor_gone")
	for _, never := range []string{store.NewID(), "x", other} {
		list(never).want(t, 200).equal(t, "data", []any{})
	}
	named := mine.do(t, "GET", "/profiles?order=asc&limit=1&sort=name", nil).want(t, 200).text("next")
	list(named).refused(t, 410, "cursor_gone")
	p := a.proxy(t)
	a.proxy(t, "host", "other.example")
	a.do(t, "DELETE", "/proxies/"+p, nil).want(t, 204)
	for _, sort := range []string{"", "&sort=host"} {
		a.do(t, "GET", "/proxies?after="+p+sort, nil).refused(t, 410, "cursor_gone")
	}
	run, id := a.runOf(t, second, 1), a.runOf(t, second, 2)
	a.rewrite(t, `DELETE FROM runs WHERE id = ?`, id)
	a.do(t, "GET", "/profiles/"+second+"/runs?after="+id, nil).refused(t, 410, "cursor_gone")
	a.do(t, "GET", "/profiles/"+second+"/runs?after="+run, nil).want(t, 200)
	a.rewrite(t, `UPDATE deleted SET at = 0`)
	if err := a.srv.store.ForgetGone(t.Context()); err != nil {
		t.Fatal(err)
	}
	list(first).want(t, 200).equal(t, "data", []any{})
	var left int64
	if err := a.srv.store.Write(t.Context(), func(q *store.Queries) (err error) {
		left, err = q.ForgetDeleted(t.Context(),
			now()+1e6)
		return err
	}); err != nil || left != 0 {
		t.Errorf("%d rows are remembered still, %v", left, err)
	}
}
