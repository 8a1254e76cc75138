package api

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"warren/testnet"
)

// aLabelledServer returns two servers of one database, of which the second has a label.
func aLabelledServer(t *testing.T) (a, b *testAPI) {
	t.Helper()
	made := 0
	all := newServers(t, testnet.Postgres(t), 2, func(c *setup) {
		if made++; made == 2 {
			c.Labels = map[string]string{"zone": "berlin"}
		}
	})
	awaitBrowsers(t, all[0])
	return all[0], all[1]
}

// awaitBrowsers waits until each of two servers has told its browsers by its first beat.
func awaitBrowsers(t *testing.T, a *testAPI) {
	t.Helper()
	waitFor(t, "the servers tell their browsers", func() bool {
		r := a.do(t, "GET", "/nodes", nil).want(t, 200)
		return r.at("data.0.browsers.0") != nil && r.at("data.1.browsers.0") != nil
	})
}

// TestDryRunWhereItStarts: the server that would start a profile answers what it would start, whichever is asked. Nothing is placed, and no
// folder is made.
func TestDryRunWhereItStarts(t *testing.T) {
	t.Parallel()
	a, b := aLabelledServer(t)
	in := func(zone string) string {
		t.Helper()
		return a.profile(t, "placement", map[string]any{"labels": map[string]any{"zone": zone}})
	}
	id, nowhere := in("berlin"), in("paris")
	path := "/profiles/" + id
	for _, asked := range []*testAPI{a, b} {
		for _, action := range []string{"/start", "/restart"} {
			r := asked.do(t, "POST", path+action, `{"dryRun":true}`).want(t, 200)
			if text := string(r.body); !strings.Contains(text, filepath.Join(b.dir, "profiles", id)) || strings.Contains(text, a.dir) {
				t.Errorf("it would run elsewhere: %s", r)
			}
		}
		asked.do(t, "GET", path+"/explain", nil).want(t, 200).equal(t, "browser.path", b.setup.Browser)
		asked.do(t, "POST", "/profiles/"+nowhere+"/start", `{"dryRun":true}`).refused(t, 503, "no_server")
		asked.do(t, "GET", "/profiles/"+nowhere+"/explain", nil).want(t, 200).equal(t, "browser.path", asked.setup.Browser)
		for _, one := range []string{id, nowhere} {
			asked.do(t, "GET", "/profiles/"+one, nil).want(t, 200).equal(t, "nodeId", nil)
			if _, err := os.Lstat(filepath.Join(asked.dir, "profiles", one)); err == nil {
				t.Error("a folder was made")
			}
		}
	}
}
