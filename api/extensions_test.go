package api

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"warren/extensions"
)

// packedExtension is a zip of an extension. Its id follows from its name.
func packedExtension(t testing.TB, name, version, more string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create("manifest.json")
	if err == nil {
		_, err = fmt.Fprintf(w, `{"manifest_version": 3, "name": %q, "version": %q%s}`, name, version, more)
	}
	if err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// packageRequest is a request that sends a package. Headers stand in pairs.
func (a *testAPI) packageRequest(t testing.TB, query string, b []byte, headers ...string) *http.Request {
	t.Helper()
	req := a.request(t, "POST", "/extensions"+query, b)
	req.Header.Set("Content-Type", "application/zip")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return req
}

func (a *testAPI) addPackage(t testing.TB, query string, b []byte, headers ...string) *answer {
	t.Helper()
	return a.send(t, a.packageRequest(t, query, b, headers...))
}

// unpackedPackages are the folders of packages.
func (a *testAPI) unpackedPackages(t testing.TB) (names []string) {
	t.Helper()
	all, err := os.ReadDir(filepath.Join(a.dir, "extensions"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

// TestExtensions: a package is shown before it is added, added once for each workspace, unpacked once for all, and deleted with its last.
func TestExtensions(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	b := packedExtension(t, "Blocker", "1.2", `, "permissions": ["proxy"], "host_permissions": ["https://*.a.example/*"]`)
	dry := a.addPackage(t, "?dryRun=true", b).want(t, 200)
	if left := a.unpackedPackages(t); len(left) > 0 || dry.at("id") != nil || dry.text("name") != "Blocker" ||
		dry.text("may.0") != "Read and change everything on a.example and the sites below it" {
		t.Errorf("%v %s", left, dry)
	}
	first := a.addPackage(t, "", b).want(t, 201)
	id := first.text("id")
	if first.header.Get("Location") != Prefix+"/extensions/"+id || !extensions.IsID(first.text("extensionId")) ||
		first.text("version") != "1.2" {
		t.Errorf("%s", first)
	}
	if got := a.do(t, "GET", "/extensions/"+id, nil).want(t, 200); !bytes.Equal(got.body, first.body) {
		t.Errorf("%s, added %s", got, first)
	}
	for _, query := range []string{"", "?dryRun=true"} {
		if again := a.addPackage(t, query, b).refused(t, 409, "duplicate"); again.text("existingId") != id {
			t.Errorf("%s", again)
		}
	}
	other := a.addPackage(t, "?workspaceId=other", b, "Content-Type", "application/x-chrome-extension", "Idempotency-Key", "k").want(t, 201)
	if got := a.addPackage(t, "?workspaceId=other", b, "Content-Type", "application/x-chrome-extension", "Idempotency-Key",
		"k").want(t, 201); got.text("id") != other.text("id") {
		t.Errorf("the same request again: %s, first %s", got, other)
	}
	if names := a.unpackedPackages(t); len(names) != 1 || names[0] != first.text("sha256") {
		t.Errorf("unpacked are %v", names)
	}
	a.do(t, "GET", "/extensions?workspaceId=other", nil).want(t, 200).equal(t, "total", 1)
	if all := a.do(t, "GET", "/extensions?limit=1", nil).want(t, 200); all.text("data.0.id") != other.text("id") ||
		all.at("hasMore") != true ||
		a.do(t, "GET", "/extensions?after="+all.text("next"), nil).want(t, 200).text("data.0.id") != id {
		t.Errorf("%s", all)
	}
	key, _ := a.newKey(t, "write", "other")
	a.as(key).do(t, "DELETE", "/extensions/"+id, nil).refused(t, 404, "extension_not_found")
	a.as(key).addPackage(t, "?workspaceId=default", b).invalid(t, "query.workspaceId")
	reader, _ := a.newKey(t, "run")
	a.as(reader).addPackage(t, "", b).refused(t, 403, "forbidden")
	a.do(t, "DELETE", "/extensions/"+id, nil).want(t, 204)
	if names := a.unpackedPackages(t); len(names) != 1 {
		t.Errorf("the other workspace's package is gone: %v", names)
	}
	a.do(t, "GET", "/extensions?after="+id, nil).want(t, 200).equal(t, "data", []any{})
	a.do(t, "DELETE", "/extensions/"+other.text("id"), nil).want(t, 204)
	if names := a.unpackedPackages(t); len(names) > 0 {
		t.Errorf("left is %v", names)
	}
	for _, name := range []string{first.text("sha256"), ".new-part"} { // as after the end of a run that had it loaded, and an addition
		if err := os.MkdirAll(filepath.Join(a.dir, "extensions", name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.srv.Sweep(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if names := a.unpackedPackages(t); len(names) != 1 || names[0] != ".new-part" {
		t.Errorf("after the sweep there is %v", names)
	}
	a.do(t, "GET", "/audit?result=ok&action=extension.add", nil).want(t, 200).equal(t, "total", 2)
	a.do(t, "GET", "/audit?result=ok&action=extension.delete", nil).want(t, 200).equal(t, "data.0.objectId", other.text("id"))
}

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestBadPackages: what is no package of an extension is refused, with every fault, and nothing of it stays.
func TestBadPackages(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	bad := a.addPackage(t, "", packedExtension(t, "", "x", "")).refused(t, 422, "validation_failed")
	if len(bad.faults()) != 2 || bad.text("errors.0.location") != "body[0]" {
		t.Errorf("%s", bad)
	}
	a.addPackage(t, "", nil).refused(t, 422, "validation_failed")
	a.addPackage(t, "", []byte("Cr24\x03\x00\x00\x00\xff\xff\xff\xff")).refused(t, 422, "validation_failed")
	a.addPackage(t, "?dryrun=true", nil).invalid(t, "query.dryrun")
	a.addPackage(t, "?dryRun=yes&workspaceId=/", nil).invalid(t, "query.dryRun", "query.workspaceId")
	a.addPackage(t, "", packedExtension(t, "a", "1", ""), "Content-Type", "text/plain").refused(t, 415, "unsupported_media_type")
	large := a.packageRequest(t, "", nil)
	large.Body, large.ContentLength = io.NopCloser(io.LimitReader(zeros{}, extensions.MaxBytes+1)), -1
	a.send(t, large).refused(t, 413, "body_too_large")
	if left := a.unpackedPackages(t); len(left) > 0 {
		t.Errorf("left is %v", left)
	}
	a.do(t, "GET", "/extensions", nil).want(t, 200).equal(t, "total", 0)
}

// TestExtensionsOfProfiles: a profile has extensions of its workspace, one version of each. While it has one, that is not deleted; a
// profile in the trash holds none. An archive names them by their packages.
func TestExtensionsOfProfiles(t *testing.T) {
	t.Parallel()
	a, b := newAPI(t), newAPI(t)
	first := packedExtension(t, "Blocker", "1.2", "")
	blocker := a.addPackage(t, "", first).want(t, 201).text("id")
	newer := a.addPackage(t, "", packedExtension(t, "Blocker", "1.3", "")).want(t, 201).text("id")
	foreign := a.addPackage(t, "?workspaceId=other", first).want(t, 201).text("id")
	use := func(id string) map[string]any { return map[string]any{"id": id} }
	profile := a.profile(t, "extensions", []any{use(blocker), map[string]any{"id": newer, "enabled": nil}}[:1])
	for location, uses := range map[string][]any{"body.extensions[1]": {use(blocker), use(newer)}, "body.extensions[0]": {use(foreign)}} {
		a.do(t, "PUT", "/profiles/"+profile, map[string]any{"extensions": uses}).invalid(t, location)
	}
	a.do(t, "PUT", "/profiles/"+profile, map[string]any{"extensions": []any{use(blocker), use(blocker)}}).invalid(t, "body.extensions[1]")
	a.do(t, "GET", "/profiles/"+profile, nil).want(t, 200).equal(t, "extensions",
		[]any{map[string]any{"id": blocker, "enabled": true}})
	inUse := a.do(t, "DELETE", "/extensions/"+blocker, nil).refused(t, 409, "extension_in_use")
	inUse.equal(t, "profileIds", []any{profile})
	a.do(t, "DELETE", "/extensions/"+newer, nil).want(t, 204)

	file := a.exported(t, "/profiles/"+profile+"/export?unsealed=true").want(t, 200).body
	without := b.imported(t, "", file).want(t, 201)
	if got := without.codes("profiles.0"); len(got) != 1 || got[0] != "extension_missing" ||
		!strings.Contains(without.text("profiles.0.warnings.0.message"), "Blocker 1.2") {
		t.Errorf("%s", without)
	}
	there := b.addPackage(t, "", first).want(t, 201).text("id")
	with := b.imported(t, "", file).want(t, 201)
	if got := with.codes("profiles.0"); len(got) > 0 {
		t.Errorf("%s", with)
	}
	b.do(t, "GET", "/profiles/"+with.text("profiles.0.id"), nil).want(t, 200).equal(t, "extensions",
		[]any{map[string]any{"id": there, "enabled": true}})

	a.do(t, "DELETE", "/profiles/"+profile, nil).want(t, 204)
	a.do(t, "DELETE", "/extensions/"+blocker, nil).want(t, 204)
	a.do(t, "POST", "/profiles/"+profile+"/restore", nil).want(t, 200)
	a.do(t, "PUT", "/profiles/"+profile, map[string]any{"name": "again"}).want(t, 200) // a change of something else
	a.do(t, "PUT", "/profiles/"+profile, map[string]any{"extensions": nil}).want(t, 200).equal(t, "extensions", []any{})
}
