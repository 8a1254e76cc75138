package api

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"warren/nodes"
	"warren/store"
	"warren/testnet"
)

// node makes this server one of those of its database, or the only one.
func (c *setup) node(ctx context.Context, log *slog.Logger, st *store.Store, address net.Addr) (*nodes.Node, error) {
	cfg := nodes.Config{Data: c.Data, Name: cmp.Or(c.NodeName, "test"), Address: "http://" + address.String(), Version: "dev",
		Labels: c.Labels}
	if c.Node != nil {
		return c.Node, nil
	}
	if c.NodeName == "" {
		return nodes.Alone(cfg), nil
	}
	return nodes.Join(ctx, cfg, log, st)
}

// placed makes a profile whose data a server has.
func (a *testAPI) placed(t testing.TB, at string) string {
	t.Helper()
	id := a.profile(t)
	err := a.store.Write(t.Context(), func(q *store.Queries) error {
		return store.ErrorOf(q.PlaceProfile(t.Context(), store.PlaceProfileParams{ID: id, NodeID: at}))
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// forEachOfProfile calls fn with each operation on one profile, and who answers it.
func (a *testAPI) forEachOfProfile(fn func(name string, r route, where place)) {
	for name, r := range routeTable() {
		if r.kind != "profile" || !strings.Contains(name, "/profiles/{id}") {
			continue
		}
		method, path, _ := strings.Cut(name, " ")
		_, pattern := a.srv.mux.Handler(httptest.NewRequest(method, path, nil))
		fn(name, r, a.srv.places[pattern])
	}
}

// TestNothingIsDoneHere: no operation that needs a run or a folder acts on a profile whose data another server has. Where that server is
// gone, each is refused with a reason, and makes no folder.
func TestNothingIsDoneHere(t *testing.T) {
	t.Parallel()
	a := newServers(t, testnet.Postgres(t), 1)[0]
	gone := store.NewID()
	refused := 0
	a.forEachOfProfile(func(name string, r route, where place) {
		id := a.placed(t, gone)
		got := a.call(t, name, r, id)
		away := got.status == http.StatusConflict && got.text("code") == "node_unreachable"
		if where == atOwner || where == atPlace || where == atChoice {
			refused++
			if !away || !strings.Contains(got.text("detail"), gone) {
				t.Errorf("%s: %s, want 409 node_unreachable", name, got)
			}
		} else if away {
			t.Errorf("%s is refused, but needs no other server: %s", name, got)
		}
		if _, err := os.Lstat(filepath.Join(a.dir, "profiles", id)); err == nil {
			t.Errorf("%s made a folder", name)
		}
	})
	if refused < 25 {
		t.Errorf("%d operations were refused: does this test still see them?", refused)
	}
}

// TestServersHeaders: what a server says of a request that it passes on counts for nobody else.
func TestServersHeaders(t *testing.T) {
	t.Parallel()
	a := newServers(t, testnet.Postgres(t), 1)[0]
	for _, name := range []string{headerCaller, headerClient, headerBase} {
		r := a.request(t, "GET", "/profiles", nil)
		r.Header.Del("Authorization")
		r.Header.Set(name, EnvironmentMark(testAdminKey))
		res, err := a.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s opens: %s", name, res.Status)
		}
	}
	r := a.request(t, "GET", "//ip", nil)
	r.Header.Set(headerClient, "203.0.113.7")
	res, err := a.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || strings.Contains(string(text), "203.0.113.7") {
		t.Errorf("a client names its address: %s, %v", text, err)
	}
}

// TestExportOfSeveral: an export of several profiles says which of them are on other servers, and exports none without its data.
func TestExportOfSeveral(t *testing.T) {
	t.Parallel()
	a := newServers(t, testnet.Postgres(t), 1)[0]
	own, other := a.profile(t), a.placed(t, store.NewID())
	r := a.do(t, "GET", "/profiles/export?unsealed=true&ids="+own+","+other, nil).refused(t, 409, "profiles_elsewhere")
	if got := r.at("profileIds"); !reflect.DeepEqual(got, []any{other}) {
		t.Errorf("those of other servers: %v", got)
	}
	a.do(t, "GET", "/profiles/export?unsealed=true&ids="+own, nil).want(t, 200)
}

// TestFailedInAnother: a filter names the profiles that failed in a job of another server. An id is no path there.
func TestFailedInAnother(t *testing.T) {
	t.Parallel()
	both := newServers(t, testnet.Postgres(t), 2)
	full := make([]string, 50)
	for i := range full {
		full[i] = fmt.Sprint("t", i)
	}
	failing := both[0].profile(t, "tags", full)
	both[0].profile(t, "tags", full[:1])
	tag := map[string]any{"action": "tag", "tags": []string{"new"}, "filter": map[string]any{"tag": []string{"t0"}}}
	job := both[0].job(t, tag).text("id")
	both[0].ended(t, job).counts(t, "done", 2, 2, 1)

	untag := func(failedIn string) map[string]any {
		return map[string]any{"action": "untag", "tags": full[:1], "filter": map[string]any{"failedIn": failedIn}}
	}
	for _, path := range []string{"/../../nodes", "/results", "?limit=1", "/../" + strings.TrimPrefix(job, "."), "%2f.."} {
		both[1].do(t, "POST", "/profiles/batch", untag(job+path)).invalid(t, "body.filter.failedIn")
	}
	both[1].ended(t, both[1].job(t, untag(job)).text("id")).counts(t, "done", 1, 1, 0)
	both[1].do(t, "GET", "/profiles?tag=t0", nil).want(t, 200).equal(t, "total", 1)
	both[1].do(t, "GET", "/profiles/"+failing, nil).want(t, 200).equal(t, "tags.0", "t1")
}

// TestBatchTakesNoPath: what a batch gets as an id is no path at the server of a profile.
func TestBatchTakesNoPath(t *testing.T) {
	t.Parallel()
	both := newServers(t, testnet.Postgres(t), 2)
	other := both[0].placed(t, both[0].srv.nodes.Owner())
	proxy := both[0].proxy(t)
	for action, path := range map[string]string{"delete": "/../../proxies/" + proxy, "stop": "/start", "start": "/../" + other} {
		r := both[1].do(t, "POST", "/profiles/batch", map[string]any{"action": action, "ids": []string{other + path}}).want(t, 200)
		r.equal(t, "results.0.error.code", "profile_not_found")
	}
	both[0].do(t, "GET", "/proxies/"+proxy, nil).want(t, 200)
}

// TestAnotherAnswers: each operation on a profile answers the same by another server as by the one that has the profile's data.
func TestAnotherAnswers(t *testing.T) {
	t.Parallel()
	noBrowser := func(c *setup) { c.Browser = filepath.Join(c.Data, "no-browser") }
	all := newServers(t, testnet.Postgres(t), 2, noBrowser)
	a, b := all[0], all[1]
	limited, _ := a.newKey(t, "read,run,write", "other")
	a.forEachOfProfile(func(name string, r route, where place) {
		direct := b.call(t, name, r, b.placed(t, b.srv.nodes.ID()))
		passed := a.call(t, name, r, b.placed(t, b.srv.nodes.ID()))
		if direct.status != passed.status || shape(direct.at(""), true) != shape(passed.at(""), true) {
			t.Errorf("%s: directly %s\npassed on %s", name, direct, passed)
		}
		if len(passed.header.Values("X-Request-Id")) != 1 || passed.header.Get("Cache-Control") != direct.header.Get("Cache-Control") {
			t.Errorf("%s: the header of what was passed on is %v", name, passed.header)
		}
		if got := a.as(limited).call(t, name, r, b.placed(t, b.srv.nodes.ID())); where != anywhere && !slices.Contains([]int{403, 404},
			got.status) {
			t.Errorf("%s by a key of another workspace: %s", name, got)
		}
	})
}
