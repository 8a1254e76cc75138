package tests

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"warren/testnet"
)

// importedView is what is made of a file.
type importedView struct {
	Created, Refused, Proxies int
	Profiles                  []struct {
		ID, Result, Reason, Proxy, System string
		Cookies                           int
		Bytes                             int64
		Warnings                          []struct{ Code, Message string }
	}
}

// imports runs `warren import`, and wants its exit code.
func (s *liveServer) imports(code int, args ...string) (out importedView) {
	s.t.Helper()
	cmd := s.command(append([]string{"import", "--json", "--url", s.base}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() //nolint:errcheck // its exit code is looked at
	if got := cmd.ProcessState.ExitCode(); got != code {
		s.t.Fatalf("warren import exits with %d, want %d:\n%s%s", got, code, &stdout, &stderr)
	}
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil && code == 0 {
		s.t.Fatalf("%v: %s%s", err, &stdout, &stderr)
	}
	return out
}

// TestImportAndStart: what `warren import` makes of another product's export starts with its cookies, through its proxy with a password.
// The cookies of a profile that has never run can be read, and go into its archive. They outlive a start that ends in a crash.
func TestImportAndStart(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	site := testnet.LocalSite
	block := "proxytype=socks5\r\nproxy=127.0.0.1:" + strconv.Itoa(s.proxy.Port()) + ":" + s.proxy.User + ":" + s.proxy.Password +
		"\r\ncookie=[" + `{"domain":"` + site + `","name":"sid","value":"in","path":"/","expirationDate":1830000000},` +
		`{"domain":"` + site + `","name":"session","value":"s","path":"/","session":true},` +
		`{"domain":"` + site + `","name":"__Http-a","value":"x","path":"/","secure":true}]` + "\r\n"
	file := filepath.Join(g.dir, "export.txt")
	text := "name=First\r\n" + block + "*****\r\nname=Second\r\n" + block + "*****\r\nname=Third\r\n" + block +
		"*****\r\nname=Broken\r\ncookie={\r\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.imports(2, filepath.Join(g.dir, "none"))
	if dry := s.imports(1, "--dry-run", file); dry.Created != 3 || dry.Profiles[0].ID != "" {
		t.Fatalf("%+v", dry)
	}
	made := s.imports(1, file)
	if made.Created != 3 || made.Refused != 1 || made.Proxies != 1 || made.Profiles[0].Cookies != 2 ||
		len(made.Profiles[0].Warnings) != 1 || !strings.Contains(made.Profiles[0].Warnings[0].Message, "A __Http- cookie must be") {
		t.Fatalf("%+v", made)
	}
	first, second := made.Profiles[0].ID, made.Profiles[1].ID

	s.start(first, map[string]any{"startUrls": []string{s.world.url("/imported")}})
	if v := s.world.await(t, "/imported", 1); !strings.Contains(v.cookie, "sid=in") || !strings.Contains(v.cookie, "session=s") {
		t.Errorf("the first page sends %q", v.cookie)
	}
	s.do("POST", "/profiles/"+first+"/stop", map[string]any{"force": true}, 200, nil) // before Chrome has written its file
	s.start(first, map[string]any{"startUrls": []string{s.world.url("/killed")}})
	if v := s.world.await(t, "/killed", 1); !strings.Contains(v.cookie, "sid=in") {
		t.Errorf("after a kill the page sends %q", v.cookie)
	}

	var have []struct{ Name string }
	s.do("GET", "/profiles/"+second+"/cookies", nil, 200, &have)
	if len(have) != 2 {
		t.Errorf("before its first start the profile has %+v", have)
	}
	var clone struct{ ID string }
	s.do("POST", "/profiles/"+made.Profiles[2].ID+"/clone", map[string]any{"withData": true}, 201, &clone)
	s.do("GET", "/profiles/"+clone.ID+"/cookies", nil, 200, &have)
	if len(have) != 2 {
		t.Errorf("a clone of a profile that has never run has %+v", have)
	}
	if exists(filepath.Join(g.data, "profiles", second, "state.sealed")) {
		t.Error("the cookies still wait for a start")
	}
}

// TestImportUserData: a folder that a Chrome has written becomes a profile with its logins and its settings, by `warren import DIR`. What
// another keyring has sealed is told. A folder of a newer browser, or one that is open, is refused.
func TestImportUserData(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	proxy := s.addProxy(nil)
	id := s.profile(map[string]any{"proxyId": proxy})
	s.withCookie(id, "in")
	dir := filepath.Join(g.data, "profiles", id, "chrome")
	s.imports(1, dir) // it runs
	s.stop(id)
	made := s.imports(0, dir)
	if made.Created != 1 || made.Profiles[0].Bytes == 0 || made.Profiles[0].System != "linux" || len(made.Profiles[0].Warnings) > 0 {
		t.Fatalf("%+v", made)
	}
	other := made.Profiles[0].ID
	s.do("PUT", "/profiles/"+other, map[string]any{"proxyId": proxy}, 200, nil)
	s.start(other, map[string]any{"startUrls": []string{s.world.url("/moved")}})
	if v := s.world.await(t, "/moved", 1); !strings.Contains(v.cookie, "kept=in") {
		t.Errorf("the page sends %q", v.cookie)
	}
	cookies := filepath.Join(dir, "Default", "Cookies")
	if text, err := os.ReadFile(cookies); err != nil || bytes.Count(text, []byte("v10")) == 0 {
		t.Fatalf("Chrome's file has no sealed cookies, %v", err)
	} else if err := os.WriteFile(cookies, bytes.ReplaceAll(text, []byte("v10"), []byte("v11")), 0o600); err != nil {
		t.Fatal(err)
	}
	if sealed := s.imports(0, "--dry-run", dir); len(sealed.Profiles[0].Warnings) != 1 ||
		!strings.Contains(sealed.Profiles[0].Warnings[0].Message, "sealed") {
		t.Errorf("%+v", sealed)
	}
	if err := os.WriteFile(filepath.Join(dir, "Last Version"), []byte("999.0.0.0"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.imports(2, dir) // what was given is at fault
}
