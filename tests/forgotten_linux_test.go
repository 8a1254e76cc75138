package tests

import (
	"path/filepath"
	"strings"
	"testing"

	"warren/testnet"
)

// TestForgottenServer: a server does not reach the database, and its data are given up. Its profile starts at another server. When it
// reaches the database again it ends its browser, and changes nothing of the profile.
func TestForgottenServer(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	database := testnet.Postgres(t)
	a := cluster(t, database, 1)[0]
	link := testnet.LinkTo(t, database)
	g := newTestbed(t)
	g.world, g.proxy = a.world, a.proxy
	b := g.serve("--store", link.Through(t, database), "--node", "b", "--label", "at=b", "--secret-key-file",
		filepath.Join(a.data, "secret.key"))
	id := a.profile(map[string]any{"placement": map[string]any{"labels": map[string]any{"at": "b"}}, "proxyId": a.addProxy(nil)})
	before, lost := a.start(id, nil), b.node().ID
	if len(b.browsers()) != 1 {
		t.Fatal("the profile does not run where it was placed")
	}
	link.Silence(true)
	testnet.Eventually(t, "the server counts as gone", func() bool { return a.stateOf("b") == "unreachable" })
	a.do("DELETE", "/nodes/"+lost+"?forget=true", nil, 204, nil)
	a.do("PUT", "/profiles/"+id, map[string]any{"placement": nil}, 200, nil)
	after := a.start(id, nil)
	if after.RunID == before.RunID || len(a.browsers()) != 1 {
		t.Errorf("after the server's data were given up: %+v", after)
	}
	link.Silence(false)
	testnet.Eventually(t, "the server ends its browser", func() bool { return len(b.browsers()) == 0 })
	testnet.Eventually(t, "it knows that it was removed", func() bool {
		status, text := b.ask("GET", b.base+"/readyz", nil)
		return status == 503 && strings.Contains(text, "node_conflict")
	})
	if p := a.get(id); p.Status != "running" || p.Run == nil || p.Run.RunID != after.RunID || p.LastRun.Reason != "lost" {
		t.Errorf("the profile shows %s, %+v, %+v", p.Status, p.Run, p.LastRun)
	}
	a.stop(id)
}
