package tests

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"warren/testnet"
)

// TestProfileWithExtensions: a package goes from its file into a browser: its page opens, its worker answers, and a run has a copy of one
// with rules. A package that is deleted stays on the disk while a run has it loaded. When its files are gone, the start says so and goes on
// without.
func TestProfileWithExtensions(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	packed := zipped(t, map[string]string{
		"manifest.json": `{"manifest_version": 3, "name": "helper", "version": "1", "permissions": ["declarativeNetRequest"], ` +
			`"declarative_net_request": {"rule_resources": [{"id": "r", "enabled": true, "path": "r.json"}]},
			"background": {"service_worker": "worker.js"}}`,
		"r.json": "[]", "page.html": "<title>its page</title>",
		"worker.js": `chrome.runtime.onMessage.addListener((_, __, answer) => { answer("from the worker") })`,
	})
	added := s.addExtension(packed)
	id := s.profile(map[string]any{"extensions": []any{map[string]any{"id": added.ID}}})
	run := s.start(id, nil)
	if len(run.Warnings) > 0 && strings.Contains(run.Warnings[0].Code, "extension") {
		t.Errorf("%+v", run.Warnings)
	}
	c := dialCDP(t, run.WsEndpoint, nil)
	var page struct{ TargetID, SessionID string }
	c.call("", "Target.createTarget", map[string]any{"url": "chrome-extension://" + added.ExtensionID + "/page.html"}, &page)
	c.call("", "Target.attachToTarget", map[string]any{"targetId": page.TargetID, "flatten": true}, &page)
	testnet.Eventually(t, "the worker answers", func() bool {
		var r struct{ Result struct{ Value string } }
		answer, err := c.try(page.SessionID, "Runtime.evaluate", map[string]any{"expression": `chrome.runtime.sendMessage("")`,
			"awaitPromise": true, "returnByValue": true})
		return err == nil && json.Unmarshal(answer, &r) == nil && r.Result.Value == "from the worker"
	})
	copied := filepath.Join(s.data, "profiles", id, "home", "cache", "extensions", added.ExtensionID, "manifest.json")
	if _, err := os.Stat(copied); err != nil {
		t.Errorf("the run's copy: %v", err)
	}
	s.refused("DELETE", "/extensions/"+added.ID, nil, 409, "extension_in_use")
	files := filepath.Join(s.data, "extensions", added.SHA256)
	s.do("PATCH", "/profiles/"+id, map[string]any{"extensions": []any{}}, 200, nil)
	s.do("DELETE", "/extensions/"+added.ID, nil, 204, nil)
	s.kill()
	s = g.serve() // removes what nobody needs any more
	if _, err := os.Stat(files); err != nil {
		t.Errorf("a run has it loaded: %v", err)
	}
	s.stop(id)
	s.kill()
	s = g.serve()
	if _, err := os.Stat(files); !os.IsNotExist(err) {
		t.Errorf("a package that nobody needs stays: %v", err)
	}
	added = s.addExtension(packed)
	s.do("PATCH", "/profiles/"+id, map[string]any{"extensions": []any{map[string]any{"id": added.ID}}}, 200, nil)
	if err := os.RemoveAll(files); err != nil {
		t.Fatal(err)
	}
	if testnet.OnPostgres() { // where another server could have it
		s.refused("POST", "/profiles/"+id+"/start", nil, 409, "extension_missing")
		return
	}
	var dry struct {
		Arguments []string
		Warnings  []struct{ Code, Message string }
	}
	s.do("POST", "/profiles/"+id+"/start", map[string]any{"dryRun": true}, 200, &dry)
	found := false
	for _, w := range dry.Warnings {
		found = found || w.Code == "extension_missing" && strings.Contains(w.Message, "helper")
	}
	if !found || strings.Contains(strings.Join(dry.Arguments, " "), "extension") {
		t.Errorf("%+v", dry)
	}
}

// addedExtension is what is read of the answer to a package.
// zipped is a zip of files, by their names.
func zipped(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for name, text := range files {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

type addedExtension struct{ ID, ExtensionID, SHA256 string }

func (s *liveServer) addExtension(packed []byte) (added addedExtension) {
	s.t.Helper()
	status, _, text := s.send("POST", "/extensions", bytes.NewReader(packed), map[string]string{"Content-Type": "application/zip"})
	if err := json.Unmarshal([]byte(text), &added); err != nil || status != 201 {
		s.t.Fatalf("%d %s", status, text)
	}
	return added
}
