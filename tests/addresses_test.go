package tests

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"warren/store"
	"warren/testnet"
)

// The addresses of a run carry the rights of the key that asked for them, and end with it.

// byKey are the headers of a program with a key.
func byKey(key string) http.Header { return http.Header{"Authorization": {"Bearer " + key}} }

// as is the same server, asked with another key.
func (s *liveServer) as(key string) *liveServer {
	other := *s
	other.token = key
	return &other
}

// uploader is a client with a page that takes files.
type uploader struct {
	*cdpClient
	page, input string
}

// uploads opens a page that takes files, over a socket.
func (s *liveServer) uploads(address string, header http.Header) *uploader {
	s.t.Helper()
	c := dialCDP(s.t, address, header)
	page := c.open(s.world.url("/page"))
	c.awaitURL(page, s.world.url("/page"))
	c.eval(page, `document.body.innerHTML = "<input type=file>", 1`)
	var input struct{ Result struct{ ObjectID string } }
	c.call(page, "Runtime.evaluate", map[string]any{"expression": `document.querySelector("input")`}, &input)
	return &uploader{c, page, input.Result.ObjectID}
}

// gives hands the page a file and says what the page reads in it; refused is what the client is told else.
func (u *uploader) gives(path string) (text, refused string) {
	u.t.Helper()
	if _, err := u.try(u.page, "DOM.setFileInputFiles", map[string]any{"objectId": u.input, "files": []string{path}}); err != nil {
		return "", err.Error()
	}
	return u.eval(u.page, `document.querySelector("input").files[0].text()`), ""
}

// guardedGround is a server whose keys and configuration lie beside the data folder, and the files to steal.
func guardedGround(t *testing.T) (s *liveServer, canary string, closed []string) {
	g := newTestbed(t)
	put := func(path, text string) string {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key, secret := put(filepath.Join(g.dir, "api", "api.key"), liveKey),
		put(filepath.Join(g.dir, "secret", "secret.key"), strings.Repeat("0a", 32))
	config := put(filepath.Join(g.dir, ".config", "warren", "config.json"), "{}")
	s = g.serve("--secret-key-file", secret, "--api-key-file", key)
	other := s.profile(nil)
	s.start(other, nil)
	temporary, err := filepath.Glob(filepath.Join(g.dir, "t", "warren-*", "*"))
	if err != nil || len(temporary) != 1 {
		t.Fatalf("the temporary folders of one run: %v %v", temporary, err)
	}
	theirs := put(filepath.Join(temporary[0], "uploads", "theirs"), "canary-text")
	return s, put(filepath.Join(g.dir, "home", "canary"), "canary-text"),
		[]string{secret, key, config, theirs, s.ownFile(),
			filepath.Join(s.data, "profiles", other, "files", "uploads"), filepath.Join(s.data, "profiles", other, "chrome", "Local State")}
}

// A client reaches files of the machine only with a key that may. It tries start's addresses, the API's with the key,
// the port for Selenium and a capability. No key reaches the server's own files.
func TestFilesAreARight(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s, canary, closed := guardedGround(t)
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	_, runKey := s.key(nil)
	_, filesKey := s.key(map[string]any{"scopes": []string{"run", "files"}})
	run, files := s.as(runKey), s.as(filesKey)
	first := run.start(id, map[string]any{"debugPort": true}) // a key that may not opens the port
	if first.DebuggerAddress == nil {
		t.Fatal("no port was opened")
	}
	gateway := "ws" + strings.TrimPrefix(s.base, "http") + apiPrefix + "/profiles/" + id + "/cdp"
	run.refused("POST", "/profiles/"+id+"/capabilities", map[string]any{"files": true}, 403, "forbidden")
	given, withFiles := files.let(id, nil), files.let(id, map[string]any{"files": true})
	own := filepath.Join(s.data, "profiles", id, "files", "uploads", "own.txt")
	if err := os.WriteFile(own, []byte("own"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, address string
		header        http.Header
		may           bool
	}{
		{"start's, with run", first.WsEndpoint, nil, false},
		{"start's, with run, and a header of the client's own", first.WsEndpoint, http.Header{"X-Warren-Files": {"1"}}, false},
		{"the API's, with run", gateway, byKey(runKey), false},
		{"the port that a key with run opened", "ws://" + *first.DebuggerAddress, http.Header{"X-Warren-Files": {"1"}}, false},
		{"a capability", *given.WsEndpoint, nil, false},
		{"start's, with run and files", files.start(id, nil).WsEndpoint, nil, true},
		{"start's, with admin", s.start(id, nil).WsEndpoint, nil, true},
		{"the API's, with run and files", gateway, byKey(filesKey), true},
		{"a capability with files", *withFiles.WsEndpoint, nil, true},
	} {
		u := s.uploads(c.address, c.header)
		if text, refused := u.gives(own); text != "own" {
			t.Errorf("%s: the run's own file gives %q %s", c.what, text, refused)
		}
		text, refused := u.gives(canary)
		if c.may && text != "canary-text" || !c.may && (text != "" || !strings.Contains(refused, "scope files")) {
			t.Errorf("%s: a file of the machine gives %q %s", c.what, text, refused)
		}
		for _, path := range closed {
			if text, refused := u.gives(path); text != "" || !strings.Contains(refused, "Not allowed") {
				t.Errorf("%s: %s gives %q %s", c.what, path, text, refused)
			}
		}
	}
}

// Two keys that join one run get addresses of their own, and the same ones again from the next server. They end with
// their key, and no other connection to the run does.
func TestAddressesEndWithTheirKey(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	id := s.profile(nil)
	revoked, first := s.key(nil)
	_, second := s.key(nil)
	missed, third := s.key(nil)
	s.start(id, nil) // which may take its time: a key that ends soon is made after it
	_, brief := s.key(map[string]any{"expiresAt": time.Now().Add(20 * time.Second).UTC().Format(time.RFC3339Nano)})
	secrets, sockets := map[string]string{}, map[string]*cdpClient{}
	for _, key := range []string{first, second, liveKey, third, brief} {
		run := s.as(key).start(id, nil)
		if again := s.as(key).start(id, nil); again.CdpURL != run.CdpURL {
			t.Errorf("the same key gets %s and %s", run.CdpURL, again.CdpURL)
		}
		secret := strings.TrimPrefix(run.CdpURL, s.base+"/cdp/")
		for _, other := range secrets {
			if other == secret {
				t.Error("two keys get the same address")
			}
		}
		secrets[key], sockets[key] = secret, dialCDP(t, run.WsEndpoint, nil)
	}
	made := s.as(first).let(id, nil)
	until := s.as(brief).let(id, map[string]any{"expiresInMs": 3600000})
	if until.ExpiresAt == nil || parseTime(t, *until.ExpiresAt).After(time.Now().Add(20*time.Second)) {
		t.Errorf("a capability outlives its key: it ends %v", until.ExpiresAt)
	}
	given := dialCDP(t, *made.WsEndpoint, nil)
	s.lists(id, until.ID, made.ID) // those of the keys' own are no objects of the API
	s.do("DELETE", "/keys/"+revoked, nil, 204, nil)
	for what, c := range map[string]*cdpClient{"its own address": sockets[first], "the capability that it made": given} {
		if err := c.awaitEnd(enough); err != nil {
			t.Errorf("a connection by %s outlives the key", what)
		}
	}
	s.opensNothing(secrets[first], made.secret())
	s.lists(id, until.ID)
	for _, key := range []string{second, liveKey, third, brief} {
		if _, err := sockets[key].try("", "Browser.getVersion", nil); err != nil {
			t.Errorf("a connection ended with a key that is not its own: %v", err)
		}
	}
	if err := sockets[brief].awaitEnd(enough); err != nil {
		t.Error("a connection outlives the time of its key")
	}
	s.opensNothing(secrets[brief], until.secret())
	s.lists(id)

	s.kill() // a key that goes while no server is there
	g.write("UPDATE keys SET revoked_at = ? WHERE id = ?", time.Now().UnixMilli(), missed)
	s = g.serve("--listen", strings.TrimPrefix(s.base, "http://"))
	for _, key := range []string{second, liveKey} {
		dialCDP(t, "ws"+strings.TrimPrefix(s.base, "http")+"/cdp/"+secrets[key], nil).call("", "Browser.getVersion", nil, nil)
		if run := s.as(key).start(id, nil); run.CdpURL != s.base+"/cdp/"+secrets[key] {
			t.Errorf("the next server answers %s", run.CdpURL)
		}
	}
	s.opensNothing(secrets[first], secrets[third], secrets[brief], made.secret())
	s.kill() // and the admin's ends when the server is given another key
	g.under = func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "WARREN_API_KEY=another-"+liveKey) }
	s = g.serve("--listen", strings.TrimPrefix(s.base, "http://"))
	s.opensNothing(secrets[liveKey])
	dialCDP(t, "ws"+strings.TrimPrefix(s.base, "http")+"/cdp/"+secrets[second], nil).call("", "Browser.getVersion", nil, nil)
}

func parseTime(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// write changes one row of the database while no server has it, as one that died right after did.
func (g *testbed) write(statement string, args ...any) {
	g.t.Helper()
	db := testnet.OpenDatabase(g.t, g.data, filepath.Join(g.data, store.FileName))
	defer db.Close()
	if n := testnet.Rewrite(g.t, db, statement, args...); n != 1 {
		g.t.Fatalf("%s changed %d rows", statement, n)
	}
}
