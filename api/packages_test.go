package api

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"warren/nodes"
	"warren/testnet"
)

// filesOf are the files of a package as a server has it unpacked, by their names.
func (a *testAPI) filesOf(t testing.TB, sum string) map[string]string {
	t.Helper()
	all := map[string]string{}
	dir := os.DirFS(filepath.Join(a.dir, "extensions", sum))
	if err := fs.WalkDir(dir, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(dir, name)
		all[name] = string(text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// sharedPackage is an extension whose package the first of two servers took, and eight profiles with it, whose data the second has.
type sharedPackage struct {
	a, b    *testAPI
	packed  []byte
	id, sum string
	ids     []string
}

func newSharedPackage(t testing.TB) (p sharedPackage) {
	t.Helper()
	all := newServers(t, testnet.Postgres(t), 2, func(c *setup) { c.Browser = filepath.Join(c.Data, "no-browser") })
	p.a, p.b = all[0], all[1]
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, text := range map[string]string{"a/b/c.js": strings.Repeat("1;", 1<<19), "é.html": "<p>",
		"manifest.json": `{"manifest_version": 3, "name": "Blocker", "version": "1", "permissions": ["tabs"]}`} {
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
	p.packed = out.Bytes()
	added := p.a.addPackage(t, "", p.packed).want(t, 201)
	p.id, p.sum = added.text("id"), added.text("sha256")
	for range 8 {
		id := p.b.placed(t, p.b.srv.nodes.ID())
		p.a.do(t, "PATCH", "/profiles/"+id, map[string]any{"extensions": []any{map[string]any{"id": p.id}}}).want(t, 200)
		p.ids = append(p.ids, id)
	}
	return p
}

// TestPackagesOfTwoServers: a start brings the packages that it loads from the server that has them, once for all starts at the same time.
// A package that was deleted goes from all servers. Only servers get packages.
func TestPackagesOfTwoServers(t *testing.T) {
	t.Parallel()
	p := newSharedPackage(t)
	all := []*testAPI{p.a, p.b}
	p.a.do(t, "GET", "/"+nodes.PackagesPath+p.sum, nil).refused(t, 404, "not_found")
	p.a.as("").do(t, "GET", "/"+nodes.PackagesPath+p.sum, nil).refused(t, 401, "unauthorized")
	answers := make(chan *answer)
	for i, id := range p.ids {
		go func() { answers <- all[i%2].do(t, "POST", "/profiles/"+id+"/start", nil) }()
	}
	for range p.ids {
		(<-answers).refused(t, 503, "browser_not_found")
	}
	if !maps.Equal(p.a.filesOf(t, p.sum), p.b.filesOf(t, p.sum)) {
		t.Error("the files differ")
	}
	if n := strings.Count(p.b.log.String(), "was fetched from another server"); n != 1 {
		t.Errorf("it was fetched %d times", n)
	}
	for _, id := range p.ids {
		p.a.do(t, "PATCH", "/profiles/"+id, map[string]any{"extensions": nil}).want(t, 200)
	}
	p.a.do(t, "DELETE", "/extensions/"+p.id, nil).want(t, 204)
	if names := p.b.unpackedPackages(t); len(names) != 1 {
		t.Errorf("before the sweep there is %v", names)
	}
	if err := p.b.srv.Sweep(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if names := s.unpackedPackages(t); len(names) > 0 {
			t.Errorf("a deleted package stays: %v", names)
		}
	}
}

// TestPackagesAreChecked: files that are not those of the extension that was added are refused, and nothing of them stays. So is a start
// with an extension that no server has, until its package is added again.
func TestPackagesAreChecked(t *testing.T) {
	t.Parallel()
	p := newSharedPackage(t)
	start := func() *answer { return p.a.do(t, "POST", "/profiles/"+p.ids[0]+"/start", nil) }
	manifest := filepath.Join(p.a.dir, "extensions", p.sum, "manifest.json")
	own, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{strings.Replace(string(own), "tabs", "proxy", 1), strings.Replace(string(own), `"1"`, `"2"`, 1), "{"} {
		if err := os.WriteFile(manifest, []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		r := start().refused(t, 409, "extension_missing")
		if names := p.b.unpackedPackages(t); len(names) > 0 || !strings.Contains(r.text("detail"), "Blocker") {
			t.Errorf("with %s: %s, and there is %v", other, r, names)
		}
	}
	if err := os.RemoveAll(filepath.Dir(manifest)); err != nil {
		t.Fatal(err)
	}
	start().refused(t, 409, "extension_missing")
	p.a.addPackage(t, "", p.packed).refused(t, 409, "duplicate")
	start().refused(t, 503, "browser_not_found")
	if len(p.b.filesOf(t, p.sum)) != 3 {
		t.Error("the files did not come")
	}
}
