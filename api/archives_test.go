package api

import (
	"bytes"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/go-json-experiment/json/jsontext"

	"warren/archive"
	"warren/shim"
	"warren/store"
)

// exported asks for an archive. Headers stand in pairs.
func (a *testAPI) exported(t testing.TB, path string, headers ...string) *answer {
	t.Helper()
	req := a.request(t, "GET", path, nil)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return a.send(t, req)
}

// imported sends an archive. Headers stand in pairs.
func (a *testAPI) imported(t testing.TB, query string, b []byte, headers ...string) *answer {
	t.Helper()
	req := a.request(t, "POST", "/profiles/import"+query, b)
	req.Header.Del("Content-Type")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return a.send(t, req)
}

// codes returns the codes of an imported profile's warnings.
func (r *answer) codes(place string) (out []string) {
	all, _ := r.at(place + ".warnings").([]any) //nolint:errcheck // none
	for _, w := range all {
		out = append(out, w.(map[string]any)["code"].(string))
	}
	slices.Sort(out)
	return out
}

// TestSealFaults: an archive is sealed in exactly one way, and only asked for in so many words it is not.
func TestSealFaults(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	hybrid, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	path, to := "/profiles/"+a.profile(t)+"/export", url.QueryEscape(identity.Recipient().String())
	const header = "X-Warren-Passphrase"
	a.exported(t, path).invalid(t, "header."+header)
	a.exported(t, path+"?unsealed=false").invalid(t, "header."+header)
	a.exported(t, path+"?unsealed=true", header, "correct horse").invalid(t, "header."+header)
	a.exported(t, path+"?recipient="+to, header, "correct horse").invalid(t, "header."+header)
	a.exported(t, path, header, "seven77").invalid(t, "header."+header)
	a.exported(t, path, header, "\xff\xfe\xff\xfe\xff\xfe\xff\xfe").invalid(t, "header."+header)
	a.exported(t, path, header, strings.Repeat("x", 1001)).invalid(t, "header."+header)
	a.exported(t, path+"?passphrase=correct-horse").refused(t, 422, "validation_failed")
	secret := a.exported(t, path+"?recipient="+identity.String()).invalid(t, "query.recipient[0]")
	if bytes.Contains(secret.body, []byte("AGE-SECRET")) {
		t.Errorf("the answer tells a secret: %s", secret)
	}
	a.exported(t, path+"?recipient="+to+"&recipient=x").invalid(t, "query.recipient[1]")
	a.exported(t, path+"?recipient="+to+"&recipient="+hybrid.Recipient().String()).invalid(t, "query.recipient")
	a.exported(t, "/profiles/export?unsealed=true").invalid(t, "query.ids")
	a.exported(t, "/profiles/export?unsealed=true&ids=none,none").invalid(t, "query.ids[1]")
	a.exported(t, "/profiles/export?unsealed=true&ids="+strings.Repeat("x,", maxArchived)+"x").invalid(t, "query.ids")
	many := a.exported(t, "/profiles/export?ids="+a.profile(t)+"&ids=none&unsealed=true").invalid(t, "query.ids[1]")
	if n := len(many.faults()); n != 1 {
		t.Errorf("%d faults", n)
	}
	if audit := a.do(t, "GET", "/audit?result=ok&action=profiles.export", nil).want(t, 200); audit.at("total") != float64(0) {
		t.Errorf("what was refused is recorded: %s", audit)
	}
	if res := a.send(t, a.request(t, "HEAD", path+"?unsealed=true", nil)); res.status != 200 || len(res.body) > 0 {
		t.Errorf("HEAD: %s", res)
	}
}

// TestArchives: two profiles go to a server with another keyring, sealed, with their settings. There a proxy is missing, and so is what
// that server does not allow. On the first server they become new profiles beside the old ones.
func TestArchives(t *testing.T) {
	t.Parallel()
	a, b := newAPI(t), newAPI(t, func(c *setup) { c.ClosedPrivate = true })
	proxy := a.proxy(t)
	first := a.profile(t, "name", "Shop ü / 1", "proxyId", proxy, "notes", "n", "tags", []string{"de"}, "os", "win",
		"allowLocal", []string{"localhost:3000"}, "temporary", true)
	second := a.profile(t, "name", "Second", "screen", map[string]any{"width": 800, "height": 600, "deviceScaleFactor": 1},
		"fallbackProxyIds", []string{proxy})
	a.putData(t, first)
	const passphrase = "päss wörd" // as UTF-8
	file := a.exported(t, "/profiles/export?ids="+first+","+second, "X-Warren-Passphrase", passphrase).want(t, 200)
	if name := file.header.Get("Content-Disposition"); !strings.HasPrefix(name, `attachment; filename="2 profiles 2`) ||
		!bytes.HasPrefix(file.body, []byte("age-encryption.org/v1\n-> scrypt ")) {
		t.Errorf("%s: %.40q", name, file.body)
	}
	one := a.exported(t, "/profiles/"+first+"/export?unsealed=true").want(t, 200)
	if name := one.header.Get("Content-Disposition"); !strings.Contains(name, "Shop%20%C3%BC%20-%201%202") {
		t.Errorf("the file is called %s", name)
	}
	r := b.imported(t, "?workspaceId=w&as=same", file.body, "X-Warren-Passphrase", passphrase).want(t, 201)
	if r.text("profiles.0.id") != first || r.text("profiles.0.browserVersion") != "156.0.1.2" || r.at("sealed") != true ||
		!slices.Equal(r.codes("profiles.0"), []string{"proxy_missing", "setting_left_out"}) ||
		!slices.Equal(r.codes("profiles.1"), []string{"fallback_left_out"}) {
		t.Errorf("%s", r)
	}
	got := b.do(t, "GET", "/profiles/"+first, nil).want(t, 200)
	for member, want := range map[string]any{"workspaceId": "w", "name": "Shop ü / 1", "notes": "n", "tags.0": "de", "os": "win",
		"proxyId": nil, "proxyMissing": true, "allowLocal": []any{}, "temporary": false, "lastStartedAt": nil, "status": "stopped"} {
		got.equal(t, member, want)
	}
	b.do(t, "GET", "/profiles/"+second, nil).want(t, 200).equal(t, "screen.width", 800)
	b.do(t, "POST", "/profiles/"+first+"/start", nil).refused(t, 409, "proxy_missing")
	again := b.exported(t, "/profiles/"+first+"/export?unsealed=true").want(t, 200).body
	waiting := a.imported(t, "", again).want(t, 201) // it waits for a proxy on any server
	if !slices.Equal(waiting.codes("profiles.0"), []string{"proxy_missing"}) {
		t.Errorf("%s", waiting)
	}
	taken := b.imported(t, "?as=same", file.body, "X-Warren-Passphrase", passphrase).refused(t, 409, "duplicate")
	if taken.text("existingId") != first || len(taken.faults()) != 2 {
		t.Errorf("%s", taken)
	}
	b.do(t, "DELETE", "/profiles/"+first+"?permanent=true", nil).want(t, 204)
	b.do(t, "DELETE", "/profiles/"+second, nil).want(t, 204) // into the trash
	b.imported(t, "?as=same", file.body, "X-Warren-Passphrase", passphrase).refused(t, 409, "duplicate")
	b.do(t, "DELETE", "/profiles/"+second+"?permanent=true", nil).want(t, 204)
	b.imported(t, "?as=same", file.body, "X-Warren-Passphrase", passphrase).want(t, 201)
	same := a.imported(t, "", file.body, "X-Warren-Passphrase", passphrase).want(t, 201)
	if id := same.text("profiles.0.id"); id == first || same.codes("profiles.0") != nil {
		t.Errorf("%s", same)
	} else if s := a.do(t, "GET", "/profiles/"+id+"/snapshots", nil).want(t, 200); s.text("data.0.reason") != "import" ||
		s.at("data.0.current") != true {
		t.Errorf("%s", s)
	}
	record := a.do(t, "GET", "/audit?action=profiles.export", nil).want(t, 200)
	record.equal(t, "total", 2)
	record.equal(t, "data.0.objectId", first)
	record.equal(t, "data.1.detail", map[string]any{"count": 2, "profileIds": []any{first, second}, "seal": "passphrase"})
	a.do(t, "GET", "/audit?action=profiles.import", nil).want(t, 200).equal(t, "total", 2)
	if said := a.log.String() + b.log.String(); strings.Contains(said, "wörd") {
		t.Error("the log has the passphrase")
	}
}

// TestRunningProfilesStay: what runs is not exported, and the answer says which profiles these are.
func TestRunningProfilesStay(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	first, second := a.profile(t), a.profile(t)
	a.putData(t, second)
	unlock, err := shim.LockFolder(filepath.Join(a.dir, "profiles", second))
	if err != nil {
		t.Fatal(err)
	}
	r := a.exported(t, "/profiles/export?unsealed=true&ids="+first+","+second)
	unlock()
	if r.status != 409 {
		t.Errorf("%s", r)
	}
	if err := os.RemoveAll(filepath.Join(a.dir, "snapshots")); err != nil {
		t.Fatal(err)
	}
	a.exported(t, "/profiles/"+second+"/export?unsealed=true").want(t, 200)
	packs, err := filepath.Glob(filepath.Join(a.dir, "snapshots", "packs", "*", "*"))
	if err != nil || len(packs) == 0 {
		t.Fatalf("%v, %v", packs, err)
	}
	for _, pack := range packs {
		if err := os.Remove(pack); err != nil {
			t.Fatal(err)
		}
	}
	a.exported(t, "/profiles/"+second+"/export?unsealed=true").refused(t, 409, "snapshot_damaged") // before the answer begins
}

// stranger returns an unsealed archive of one profile with these settings.
func stranger(t testing.TB, id, settings string) []byte {
	t.Helper()
	var b bytes.Buffer
	about := archive.About{ID: id, Name: "p", Settings: jsontext.Value(settings), System: "darwin", Browser: "999.1"}
	if err := archive.Write(t.Context(), &b, archive.Options{Unsealed: true}, func(yield func(archive.Profile, error) bool) {
		yield(archive.Profile{About: about}, nil)
	}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestImportFaults: an archive of a stranger brings no setting that a request could not, and what is refused leaves nothing.
func TestImportFaults(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	plain := stranger(t, "p", `{"name":"x"}`)
	a.imported(t, "?as=old", plain).invalid(t, "query.as")
	a.imported(t, "?as=new&as=new&x=1&workspaceId=%21", plain).invalid(t, "query.as", "query.workspaceId", "query.x")
	a.imported(t, "?as=same", plain).refused(t, 422, "archive_refused")
	for _, body := range [][]byte{nil, []byte("{}"), plain[:len(plain)-1], append(bytes.Clone(plain), 0), stranger(t, "p", `{}`),
		stranger(t, "p", `{"name":""}`), stranger(t, "p", `{"name":7}`), stranger(t, "p", `{"name":"`+strings.Repeat("x", 201)+`"}`)} {
		a.imported(t, "", body).refused(t, 422, "archive_refused")
	}
	a.imported(t, "", plain, "X-Warren-Passphrase", "correct horse").invalidAs(t, "archive_refused", "header.X-Warren-Passphrase")
	writer, _ := a.newKey(t, "write,run")
	a.as(writer).imported(t, "", plain).refused(t, 403, "forbidden")
	other, _ := a.newKey(t, "write,secrets", "other")
	a.as(other).imported(t, "?workspaceId=default", plain).invalid(t, "query.workspaceId")
	a.do(t, "GET", "/profiles", nil).want(t, 200).equal(t, "total", 0)
	a.do(t, "GET", "/audit?result=ok&action=profiles.import", nil).want(t, 200).equal(t, "total", 0)
	r := a.imported(t, "", stranger(t, store.NewID(), `{"name":" Good ","os":"beos","webrtc":"loud","idleTimeoutMs":-1,"tags":"none",
		"headless":true,"proxyId":"no","fallbackProxyIds":["no"],"snapshots":"on","consistency":null,"futureSetting":1,"temporary":true,
		"denyHosts":["ads.example"],"workspaceId":"other"}`)).want(t, 201)
	want := []string{"fallback_left_out", "proxy_missing", "setting_left_out", "setting_left_out", "setting_left_out", "setting_left_out",
		"setting_left_out", "setting_left_out"}
	if got := r.codes("profiles.0"); !slices.Equal(got, want) {
		t.Errorf("warnings %q\n%s", got, r)
	}
	got := a.do(t, "GET", r.header.Get("Location")[len(Prefix):], nil).want(t, 200)
	for member, want := range map[string]any{"name": "Good", "webrtc": "proxy_only", "idleTimeoutMs": nil, "tags": []any{},
		"headless": true, "proxyMissing": true, "snapshots": "on", "consistency": "warn", "temporary": false,
		"denyHosts": []any{"ads.example"}, "workspaceId": "default", "fallbackProxyIds": []any{}} {
		got.equal(t, member, want)
	}
	if found, err := filepath.Glob(filepath.Join(a.dir, ".import-*")); err != nil || len(found) > 0 {
		t.Errorf("%q is left, %v", found, err)
	}
}

// invalidAs wants a refusal with a code and a fault at a place.
func (r *answer) invalidAs(t testing.TB, code, location string) {
	t.Helper()
	r.refused(t, 422, code)
	if !strings.Contains(string(r.body), `"`+location+`"`) {
		t.Errorf("%s\nhas no fault at %s", r, location)
	}
}

// TestImportOnce: the same file with the same key is imported once, also if the first answer was lost.
func TestImportOnce(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	a.putData(t, id)
	file := a.exported(t, "/profiles/"+id+"/export?unsealed=true").want(t, 200).body
	first := a.imported(t, "", file, "Idempotency-Key", "k").want(t, 201)
	again := a.imported(t, "", file, "Idempotency-Key", "k").want(t, 201)
	if !bytes.Equal(first.body, again.body) || again.header.Get("Idempotency-Replayed") == "" {
		t.Errorf("%s\n%s", first, again)
	}
	a.imported(t, "", stranger(t, "p", `{"name":"x"}`), "Idempotency-Key", "k").refused(t, 409, "idempotency_conflict")
	a.rewrite(t, `UPDATE idempotency SET status = 0, answer = NULL`) // as if the server was killed before its answer
	lost := a.imported(t, "", file, "Idempotency-Key", "k").want(t, 201)
	if !bytes.Equal(first.body, lost.body) || lost.header.Get("Location") != first.header.Get("Location") {
		t.Errorf("%s\n%s", first, lost)
	}
	a.do(t, "GET", "/profiles", nil).want(t, 200).equal(t, "total", 2)
	a.imported(t, "", file[:100], "Idempotency-Key", "l").refused(t, 422, "archive_refused")
	a.imported(t, "", file, "Idempotency-Key", "l").want(t, 201) // the refusal was not kept
}
