package api

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBrowserTooOld: a profile is not opened with an older browser than last time; a dry run says so too, and leaves nothing.
func TestBrowserTooOld(t *testing.T) {
	t.Parallel()
	needIsolation(t)
	a := newAPI(t)
	id := a.do(t, "POST", "/profiles", map[string]any{"name": "x"}).want(t, 201).text("id")
	folder := filepath.Join(a.dir, "profiles", id)
	if err := os.MkdirAll(filepath.Join(folder, "chrome"), 0o700); err != nil {
		t.Fatal(err)
	}
	for version, tooOld := range map[string]bool{"157.0.8100.1": true, "156.0.9999.1": false, "155.0.1.1": false, "?": false} {
		if err := os.WriteFile(filepath.Join(folder, "chrome", "Last Version"), []byte(version), 0o600); err != nil {
			t.Fatal(err)
		}
		r := a.do(t, "POST", "/profiles/"+id+"/start", map[string]any{"dryRun": true})
		if !tooOld {
			r.want(t, 200)
			continue
		}
		r.refused(t, 409, "browser_too_old")
		for _, part := range []string{version, "Chromium 156.0.8078.79", "allowDowngrade", "from 157 on"} {
			if !strings.Contains(r.text("detail"), part) {
				t.Errorf("%q does not name %s", r.text("detail"), part)
			}
		}
		a.do(t, "POST", "/profiles/"+id+"/start", map[string]any{"dryRun": true, "allowDowngrade": true}).want(t, 200)
		if r := a.do(t, "GET", "/profiles/"+id+"/snapshots", nil).want(t, 200); r.at("total") != 0.0 {
			t.Errorf("a dry run made a snapshot: %s", r.body)
		}
		a.do(t, "POST", "/profiles/"+id+"/start", map[string]any{"allowDowngrade": "yes"}).invalid(t, "body.allowDowngrade")
	}
}

// TestStartWhileTheServerStops: a start under way is answered with 503 server_stopping, not as if somebody had stopped the profile.
func TestStartWhileTheServerStops(t *testing.T) {
	t.Parallel()
	needIsolation(t)
	a := newAPI(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // a proxy that accepts connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	id := a.profile(t, "proxyId", a.proxy(t, "host", "127.0.0.1", "port", silent.Addr().(*net.TCPAddr).Port))
	answered := make(chan *answer, 1)
	go func() { answered <- a.do(t, "POST", "/profiles/"+id+"/start", `{"preflight":"require"}`) }()
	waitFor(t, "the start", func() bool { return a.do(t, "GET", "/profiles/"+id, nil).text("status") == "starting" })
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	(<-answered).refused(t, 503, "server_stopping")
}

// TestStopWithUnusedConnections: connections that a browser opened in advance, and sent nothing on, do not make a stop fail.
func TestStopWithUnusedConnections(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	unused, err := net.Dial("tcp", strings.TrimPrefix(a.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer unused.Close()                          //nolint:errcheck // the server has closed it
	a.do(t, "GET", "/profiles", nil).want(t, 200) // the connection before this one is accepted by now
	if err := a.stop(); err != nil {
		t.Errorf("the stop: %v", err)
	}
	if _, err := unused.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is open")
	}
}
