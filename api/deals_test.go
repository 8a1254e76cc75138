package api

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"warren/problem"
	"warren/store"
	"warren/testnet"
)

// proxiesOfProfiles returns the proxies of the profiles, with each proxy once for each profile that has it.
func (a *testAPI) proxiesOfProfiles(t testing.TB) (out []string) {
	t.Helper()
	for _, p := range a.do(t, "GET", "/profiles?limit=100", nil).want(t, 200).at("data").([]any) {
		if id, ok := p.(map[string]any)["proxyId"].(string); ok {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// TestDealsOfServers: batches at once that deal unused proxies, at one server or at several, deal none twice. With one proxy too few one of
// the batches is refused, and changes nothing.
func TestDealsOfServers(t *testing.T) {
	t.Parallel()
	for _, count := range []int{1, 3} {
		t.Run(fmt.Sprint("servers ", count), func(t *testing.T) {
			t.Parallel()
			all := []*testAPI{newAPI(t)}
			if count > 1 {
				all = newServers(t, testnet.Postgres(t), count)
			}
			for short := range 2 {
				for round := range 4 {
					dealAtOnce(t, all, fmt.Sprintf("w%d-%d", short, round), short)
				}
			}
		})
	}
}

// dealAtOnce asks for six batches of five in a workspace of thirty proxies: two of given profiles, two jobs and two of new profiles. short
// is how many of the proxies are missing.
func dealAtOnce(t *testing.T, all []*testAPI, workspace string, short int) {
	t.Helper()
	key, _ := all[0].newKey(t, "read,write", workspace)
	one := all[0].as(key)
	for i := range 30 - short {
		one.proxy(t, "host", fmt.Sprint("p", i, ".example"))
	}
	var wg sync.WaitGroup
	answers := make([]*answer, 6)
	for i := range answers {
		a, tag := all[i%len(all)].as(key), fmt.Sprint("batch", i)
		set := map[string]any{"action": "setProxy", "proxies": "each"}
		if i < 4 {
			set["ids"] = one.many(t, "count", 5, "tags", []string{tag}).want(t, 201).each("id")
		}
		wg.Go(func() {
			if i >= 4 {
				answers[i] = a.many(t, "count", 5, "proxies", "each")
				return
			}
			if i >= 2 {
				delete(set, "ids")
				set["filter"] = map[string]any{"tag": []string{tag}}
			}
			answers[i] = a.do(t, "POST", "/profiles/batch", set)
			if answers[i].status == 202 {
				answers[i] = a.ended(t, answers[i].text("id")).counts(t, "done", 5, 5, 0)
			}
		})
	}
	wg.Wait()
	refused := 0
	for i, r := range answers {
		if r.status == 422 {
			refused++
			r.invalid(t, "body.proxies")
		} else if want := []int{200, 200, 200, 200, 201, 201}[i]; r.status != want {
			t.Errorf("batch %d: %s", i, r)
		}
		for k := range 5 {
			if i < 2 && r.status == 200 {
				r.equal(t, fmt.Sprint("results.", k, ".status"), 200)
			}
		}
	}
	got := one.proxiesOfProfiles(t)
	if n := len(got); refused != short || n != 30-5*short || len(slices.Compact(got)) != n {
		t.Errorf("%s: %d batches were refused, %d profiles have %d proxies", workspace, refused, n, len(slices.Compact(got)))
	}
	waitFor(t, "the end of the deals", func() bool { // a job's ends a moment after the job
		left, err := one.srv.store.Read().ListDeals(t.Context())
		return err == nil && len(left) == 0
	})
}

// TestDealsOfTheGone: proxies that a server has dealt are its own while it lives. They are dealt again when it is gone, is removed, or has
// started anew, and when the row of an ended deal could not be removed. A server that goes on after it was gone gives none twice.
func TestDealsOfTheGone(t *testing.T) {
	t.Parallel()
	all := newServers(t, testnet.Postgres(t), 2)
	one, two := all[0], all[1]
	proxy, to := one.proxy(t), []store.ProfileID{{ID: one.profile(t), Workspace: "default"}}
	by, each := newEnvironmentCaller("x"), &proxiesInput{Each: true}
	dealt := func(a *testAPI) bool {
		ids, release, err := a.srv.deals.deal(t.Context(), by, each, to)
		release()
		if err == nil && !slices.Equal(ids, []string{proxy}) || err != nil && !problem.HasCode(err, "validation_failed") {
			t.Errorf("it has dealt %v (%v)", ids, err)
		}
		return err == nil
	}
	leave := func(node string) {
		if err := one.srv.store.Write(t.Context(), func(q *store.Queries) error {
			return q.InsertDeal(t.Context(), store.InsertDealParams{ID: store.NewID(), NodeID: node, Proxies: `{"` + proxy + `":1}`})
		}); err != nil {
			t.Fatal(err)
		}
	}
	rows := func() int {
		left, err := one.srv.store.Read().ListDeals(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(left)
	}
	_, release, err := two.srv.deals.deal(t.Context(), by, each, to)
	if err != nil || dealt(one) {
		t.Fatalf("while a deal of the other server is under way: %v", err)
	}
	release()
	leave("gone")
	if !dealt(one) || !dealt(two) {
		t.Error("the proxy of a server that is gone is not dealt")
	}
	leave(two.srv.nodes.Owner())
	if dealt(one) {
		t.Error("what a server that lives has dealt is dealt")
	} else if !dealt(two) {
		t.Error("the proxy of an ended deal of its own is not dealt")
	}
	if err := two.srv.deals.sweep(t.Context()); err != nil || !dealt(one) || rows() != 1 {
		t.Errorf("after the sweep: %d rows, %v", rows(), err)
	}
	leave(two.srv.nodes.Owner())
	if err := two.srv.Prepare(t.Context()); err != nil || !dealt(one) || rows() != 1 {
		t.Errorf("after its start: %d rows, %v", rows(), err)
	}
	id := two.srv.nodes.Owner()
	leave(id)
	if err := two.stop(); err != nil {
		t.Fatal(err)
	}
	if !dealt(one) || rows() != 2 {
		t.Error("the proxy of a server that has ended is not dealt")
	}
	one.do(t, "DELETE", "/nodes/"+id, nil).want(t, 204)
	if rows() != 1 {
		t.Error("the deal of a server stays that was removed")
	}
}

// TestUnusedStill: a proxy that was dealt as unused, and that another profile has meanwhile, is refused: here, and on the server that runs
// the profile.
func TestUnusedStill(t *testing.T) {
	t.Parallel()
	all := newServers(t, testnet.Postgres(t), 2)
	here, there := all[0].profile(t), all[1].profile(t)
	two, _ := all[1].adopt(t, there, "default", rand.Text())
	one := all[0]
	proxy := one.proxy(t)
	other := one.profile(t, "proxyId", proxy)
	waitFor(t, "the new address of the other server", func() bool {
		at, err := one.srv.nodes.Other(t.Context(), two.srv.nodes.Owner())
		return err == nil && at.Address == two.base
	})
	ctx := context.WithValue(t.Context(), requestKey{}, &request{api: one.srv, caller: newEnvironmentCaller(one.key),
		id: store.NewID(), base: one.base, remote: "127.0.0.1", authorization: "Bearer " + one.key, unusedProxy: true})
	give := func(id string) error {
		_, err := one.srv.setProxyAnywhere(ctx, ProfilePath{ID: id}, opt[string]{Set: true, Value: proxy})
		return err
	}
	for _, id := range []string{here, there} {
		if err := give(id); !problem.HasCode(err, "proxy_taken") {
			t.Errorf("a proxy that is used: %v", err)
		}
	}
	two.do(t, "PUT", "/profiles/"+other, `{"proxyId":null}`).want(t, 200)
	for _, id := range []string{there, there} { // the second time it has it already
		if err := give(id); err != nil {
			t.Error(err)
		}
	}
	two.do(t, "PUT", "/profiles/"+there, `{"proxyId":null}`).want(t, 200)
	if err := give(here); err != nil {
		t.Error(err)
	}
	r := one.request(t, "PUT", "/profiles/"+other, `{"proxyId":"`+proxy+`"}`)
	r.Header.Set(headerUnused, "1")
	if a := one.send(t, r).want(t, 200); !strings.Contains(string(a.body), proxy) {
		t.Error("a client's header counts")
	}
}
