package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"warren/api"
	"warren/store"
	"warren/testnet"
)

// askNode calls a server with the admin key of its data folder. into takes the answer; nil: nothing.
func askNode(t testing.TB, base, data, method, path, body string, into any) (status int) {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(data, "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, base+api.Prefix+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(key)))
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || into != nil && json.Unmarshal(text, into) != nil {
		t.Fatalf("%s %s: %d, %s, %v", method, path, res.StatusCode, text, err)
	}
	return res.StatusCode
}

// nodesOf asks a server for the list of nodes.
func nodesOf(t testing.TB, base, data string) []api.NodeJSON {
	t.Helper()
	var list struct{ Data []api.NodeJSON }
	if status := askNode(t, base, data, http.MethodGet, "/nodes", "", &list); status != http.StatusOK {
		t.Fatal(status)
	}
	return list.Data
}

// TestServersOfOneDatabase: a server of PostgreSQL lists itself, and another one that serves beside it. When one has ended in order, the
// other lists it as stopped.
func TestServersOfOneDatabase(t *testing.T) {
	t.Parallel()
	first, second := testConfig(t), testConfig(t)
	first.Store = testnet.Postgres(t)
	second.Store, second.SecretKey = first.Store, filepath.Join(first.Data, "secret.key")
	first.Node, first.Label, first.MaxRunning = "one", []string{"zone=berlin", "ssd="}, 7
	second.Node, second.Advertise = "two", "https://two.example/"
	var id string
	s := serveOnce(t, first, func(s *served) {
		all := nodesOf(t, s.base, first.Data)
		if len(all) != 1 || all[0].Name != "one" || all[0].Address != s.base || all[0].State != "up" || !all[0].Self ||
			all[0].Labels["zone"] != "berlin" || all[0].MaxRunning == nil || *all[0].MaxRunning != 7 || all[0].SeenAgo > 15 {
			t.Errorf("%+v", all)
			return
		}
		id = all[0].ID
		shareKey(t, first, second)
		beside := serveOnce(t, second, func(other *served) {
			for _, asked := range []string{s.base, other.base} {
				all := nodesOf(t, asked, first.Data)
				if len(all) != 2 || all[0].State != "up" || all[1].State != "up" || all[0].Self == all[1].Self {
					t.Errorf("%s lists %+v", asked, all)
				}
			}
		})
		if beside.err != nil {
			t.Error(beside.err)
		}
		if p := nodesOf(t, s.base, first.Data)[0].Pressure; p <= 0 || p > 100 { // the beat has moved, and some memory is always in use
			t.Errorf("the pressure is %d", p)
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	s = serveOnce(t, second, func(s *served) {
		all := nodesOf(t, s.base, second.Data)
		if len(all) != 2 || all[0].ID != id || all[0].State != "stopped" || all[1].Name != "two" ||
			all[1].Address != "https://two.example" {
			t.Errorf("%+v", all)
		}
	})
	if s.err != nil || strings.Contains(s.log, "its beat is watched") {
		t.Errorf("%v, %s", s.err, s.log)
	}
}

// shareKey gives a server the admin key of another one with the same database.
func shareKey(t testing.TB, from, to *serveConfig) {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(from.Data, "admin.key"))
	if err == nil {
		err = os.MkdirAll(to.Data, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(to.Data, "admin.key"), key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDrainUntilRestart: a server that warren drain has drained takes starts again when it is started anew. One that an administrator has
// drained does not, with or without warren drain. Only the server itself can be drained so.
func TestDrainUntilRestart(t *testing.T) {
	t.Parallel()
	first, second := testConfig(t), testConfig(t)
	first.Store = testnet.Postgres(t)
	second.Store, second.SecretKey = first.Store, filepath.Join(first.Data, "secret.key")
	var id string
	drain := func(s *served, want ...string) {
		t.Helper()
		for _, args := range want {
			if out, err := warren(t, append(strings.Fields(args), "--url", s.base, "--data", first.Data)...); err != nil {
				t.Errorf("%s: %s, %v", args, out, err)
			}
		}
	}
	starts := func(want bool, do func(s *served)) func(*served) {
		return func(s *served) {
			t.Helper()
			n := nodesOf(t, s.base, first.Data)[0]
			if id = n.ID; n.Draining == want {
				t.Errorf("it drains: %v", n.Draining)
			}
			do(s)
			if n := nodesOf(t, s.base, first.Data)[0]; !n.Draining {
				t.Error("it does not drain")
			}
		}
	}
	for i, step := range []func(*served){
		starts(true, func(s *served) { drain(s, "drain", "drain") }),
		starts(true, func(s *served) { drain(s, "drain", "node undrain "+id, "node drain "+id) }),
		starts(false, func(s *served) { drain(s, "drain") }),
		starts(false, func(*served) {}),
	} {
		if s := serveOnce(t, first, step); s.err != nil {
			t.Fatalf("step %d: %v", i, s.err)
		}
	}
	shareKey(t, first, second)
	s := serveOnce(t, second, func(s *served) {
		var answer struct{ Code string }
		path := "/nodes/" + id + "/drain?untilRestart=true"
		if status := askNode(t, s.base, second.Data, http.MethodPost, path, "", &answer); status != http.StatusUnprocessableEntity {
			t.Errorf("the drain of another server: %d, %+v", status, answer)
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
}

// TestProfilesOfAServer: a profile starts where its data are. When that server was removed, it waits for it, or starts anew elsewhere if
// the data are given up. No server has a browser here, so that a start that is taken says so.
func TestProfilesOfAServer(t *testing.T) {
	t.Parallel()
	first, second := testConfig(t), testConfig(t)
	first.Store = testnet.Postgres(t)
	second.Store, second.SecretKey = first.Store, filepath.Join(first.Data, "secret.key")
	first.Node, second.Node = "one", "two"
	var profile struct{ ID string }
	var nodeID string
	start := func(s *served, data, want string) {
		t.Helper()
		var answer struct{ Code, Detail string }
		askNode(t, s.base, data, http.MethodPost, "/profiles/"+profile.ID+"/start", "", &answer)
		if code, words, _ := strings.Cut(want, " "); answer.Code != code || !strings.Contains(answer.Detail, words) {
			t.Errorf("the start: %+v, want %s", answer, want)
		}
	}
	remove := func(s *served, query string, want int) {
		t.Helper()
		if status := askNode(t, s.base, second.Data, http.MethodDelete, "/nodes/"+nodeID+query, "", nil); status != want {
			t.Errorf("the removal %q: %d", query, status)
		}
	}
	steps := []struct {
		on *serveConfig
		do func(*served)
	}{
		{first, func(s *served) {
			askNode(t, s.base, first.Data, http.MethodPost, "/profiles", `{"name":"shop","os":"linux"}`, &profile)
			start(s, first.Data, "browser_not_found ")
			nodeID = nodesOf(t, s.base, first.Data)[0].ID
			shareKey(t, first, second)
			if status := askNode(t, s.base, first.Data, http.MethodDelete, "/nodes/"+nodeID, "", nil); status != http.StatusConflict {
				t.Errorf("the removal of a server that lives: %d", status)
			}
		}},
		{second, func(s *served) {
			start(s, second.Data, "node_unreachable the server one at http")
			remove(s, "", http.StatusNoContent)
			remove(s, "", http.StatusNotFound)
			start(s, second.Data, "node_unreachable which is not in this database")
		}},
		{first, func(s *served) { start(s, first.Data, "browser_not_found ") }},
		{second, func(s *served) {
			remove(s, "", http.StatusNoContent)
			start(s, second.Data, "node_unreachable warren node remove "+nodeID+" --forget")
			remove(s, "?forget=true", http.StatusNoContent)
			remove(s, "?forget=true", http.StatusNotFound)
			start(s, second.Data, "browser_not_found ")
		}},
		{first, func(s *served) { start(s, first.Data, "node_unreachable the server two at http") }},
	}
	for i, step := range steps {
		if s := serveOnce(t, step.on, step.do); s.err != nil {
			t.Fatalf("step %d: %v", i, s.err)
		}
	}
}

// TestTakenOver: a server whose id another process has taken is not ready and starts nothing, and says who has it.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.Store = testnet.Postgres(t)
	s := serveOnce(t, cfg, func(s *served) {
		st, err := store.Open(t.Context(), t.TempDir(), store.Options{Database: cfg.Store,
			SecretKeyFile: filepath.Join(cfg.Data, "secret.key")})
		if err != nil {
			t.Error(err)
			return
		}
		defer st.Close()
		id := nodesOf(t, s.base, cfg.Data)[0].ID
		err = st.Write(t.Context(), func(q *store.Queries) error {
			return q.ClaimNode(t.Context(), store.ClaimNodeParams{ID: id, Name: "copy", Address: "http://10.0.0.9:7777", Labels: "{}"})
		})
		if err != nil {
			t.Error(err)
		}
		var profile struct{ ID string }
		askNode(t, s.base, cfg.Data, http.MethodPost, "/profiles", `{"name":"shop","os":"linux"}`, &profile)
		var answer struct{ Code, Detail string }
		testnet.Eventually(t, "the beat finds it", func() bool {
			askNode(t, s.base, cfg.Data, http.MethodPost, "/profiles/"+profile.ID+"/start", "", &answer)
			return answer.Code == "node_conflict"
		})
		res, err := http.Get(s.base + "/readyz")
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusServiceUnavailable ||
			!strings.Contains(string(text), "copy at http://10.0.0.9:7777") {
			t.Errorf("%d, %s, %v", res.StatusCode, text, err)
		}
	})
	if s.err != nil || !strings.Contains(s.log, "this server starts no browsers any more") {
		t.Errorf("%v, %s", s.err, s.log)
	}
}

// TestStopBeforeItServes: a server that waits for the beat of another one ends well when it is told to stop.
func TestStopBeforeItServes(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.Store = testnet.Postgres(t)
	st, err := store.Open(t.Context(), cfg.Data, store.Options{Database: cfg.Store})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	id := store.NewID()
	err = st.Write(t.Context(), func(q *store.Queries) error {
		return q.ClaimNode(t.Context(), store.ClaimNodeParams{ID: id, Name: "still", Labels: "{}"})
	})
	if err == nil {
		err = store.WriteFile(filepath.Join(cfg.Data, "node.json"), `{"id":"`+id+`"}`)
	}
	if err == nil {
		err = cfg.resolve()
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out, log testnet.Buffer
	ended := make(chan error, 1)
	go func() {
		ended <- serve(ctx, cfg, &console{strings.NewReader(""), &out, &log}, func(string) { t.Error("it serves") })
	}()
	testnet.Eventually(t, "the beat is watched", func() bool { return strings.Contains(log.String(), "its beat is watched") })
	stop()
	if err := <-ended; err != nil {
		t.Errorf("%v, %s", err, &log)
	}
}

// TestNodeFlags: what names a server among others needs a database that they share, and is checked.
func TestNodeFlags(t *testing.T) {
	t.Parallel()
	shared := func(more ...string) []string { return append([]string{"--store", "postgres://127.0.0.1:1/x"}, more...) }
	for _, x := range []struct {
		args []string
		want string // "": no fault
	}{
		{shared("--node", "one", "--advertise", "https://one.example:7777", "--label", "zone=a", "--label", "b/c="), ""},
		{shared(), ""},
		{[]string{"--node", "one"}, "--node is of servers that share a database"},
		{[]string{"--advertise", "https://one.example"}, "--advertise is of servers that share a database"},
		{[]string{"--label", "a=b"}, "--label is of servers that share a database"},
		{shared("--node", "a\nb"), "must be a line"},
		{shared("--advertise", "one.example:7777"), "must be http://HOST:PORT"},
		{shared("--advertise", "https://me:hush@one.example"), "must be http://HOST:PORT"},
		{shared("--advertise", "https://one.example/path"), "must be http://HOST:PORT"},
		{shared("--label", "zone"), "must be KEY=VALUE"},
		{shared("--label", "zone=a b"), "must be KEY=VALUE"},
		{shared("--label", "a=b", "--label", "a=c"), "--label a is given twice"},
	} {
		var out, told bytes.Buffer
		args := append([]string{"config", "check", "--data", t.TempDir()}, x.args...)
		code := exitCode(run(context.Background(), args, strings.NewReader(""), &out, &told), &told)
		if x.want == "" && code != 0 || x.want != "" && (code != 2 || !strings.Contains(told.String(), x.want)) ||
			strings.Contains(told.String(), "hush") {
			t.Errorf("%q: %d, %s", x.args, code, told.String())
		}
	}
}

// TestStrangeAuthority: a server ends with exit code 3 where its secret key does not open the authority of the servers.
func TestStrangeAuthority(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.Store = testnet.Postgres(t)
	st, err := store.Open(t.Context(), cfg.Data, store.Options{Database: cfg.Store})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	err = st.Write(t.Context(), func(q *store.Queries) error {
		return q.SetSetting(t.Context(), store.SetSettingParams{Name: "node_authority", Value: "AQIDBAU="})
	})
	if err != nil {
		t.Fatal(err)
	}
	refused := serveOnce(t, cfg, func(*served) { t.Error("it serves") })
	var told bytes.Buffer
	if code := exitCode(refused.err, &told); code != 3 || !strings.Contains(told.String(), "the authority that certifies the servers") {
		t.Errorf("%d, %s", code, told.String())
	}
}

// TestFirstServeOfTwo: of two servers that start at once on an empty database one makes the admin key. The other one says where it is.
func TestFirstServeOfTwo(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret.key")
	if err := os.WriteFile(secret, []byte(strings.Repeat("5e", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		database := testnet.Postgres(t)
		servers, configs := make([]served, 2), make([]*serveConfig, 2)
		var both sync.WaitGroup
		for i := range servers {
			configs[i] = testConfig(t)
			configs[i].Store, configs[i].SecretKey = database, secret
			both.Go(func() { servers[i] = serveOnce(t, configs[i]) })
		}
		both.Wait()
		made := 0
		for i, s := range servers {
			key := keyForm.FindString(s.log)
			text, err := os.ReadFile(filepath.Join(configs[i].Data, "admin.key"))
			switch {
			case s.err != nil:
				t.Error(s.err)
			case key != "" && string(text) == key+"\n":
				made++
			case key != "" || !errors.Is(err, os.ErrNotExist) || !strings.Contains(s.log, "in the data folder of the server that made it"):
				t.Errorf("admin.key has %q (%v), and the server says:\n%s", text, err, s.log)
			}
		}
		if made != 1 {
			t.Fatalf("%d servers made a key", made)
		}
	}
}
