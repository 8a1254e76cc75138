package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"warren/api"
	"warren/testnet"
)

// nodesOf asks a server for the list of nodes, with the admin key of its data folder.
func nodesOf(t testing.TB, base, data string) []api.NodeJSON {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(data, "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+api.Prefix+"/nodes", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(key)))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	var list struct{ Data []api.NodeJSON }
	if err != nil || json.Unmarshal(body, &list) != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%d, %s, %v", res.StatusCode, body, err)
	}
	return list.Data
}

// TestServersOfOneDatabase: a server of PostgreSQL lists itself. A second one is refused with exit code 3 while the first lives, and
// serves as soon as that has ended in order.
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
		refused := serveOnce(t, second, func(*served) { t.Error("two servers have the database") })
		var told bytes.Buffer
		want := "another server (one at " + s.base + ") uses this database; several at once are not supported by this version"
		if code := exitCode(refused.err, &told); code != 3 || !strings.Contains(told.String(), want) {
			t.Errorf("%d, %s", code, told.String())
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	key, err := os.ReadFile(filepath.Join(first.Data, "admin.key"))
	if err == nil {
		err = os.WriteFile(filepath.Join(second.Data, "admin.key"), key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
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
