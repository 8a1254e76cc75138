package api

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"warren/testnet"
)

// exportOf reads a file that stands for another product's export.
func exportOf(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "comeover", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestImportOthers: an export of another product becomes profiles with their proxies, all at once. A proxy that is here is used again, one
// that cannot be used leaves its profile unable to start, and a dry run writes nothing.
func TestImportOthers(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	file := exportOf(t, "adspower.txt")
	dry := a.imported(t, "?dryRun=true", file).want(t, 200)
	for member, want := range map[string]any{"format": "adspower", "dryRun": true, "created": 3, "refused": 0, "proxies": 1,
		"profiles.0.id":    "",
		"profiles.0.proxy": "created", "profiles.0.proxyId": nil, "profiles.0.cookies": 1,
		"profiles.2.proxy": "missing", "profiles.2.line": 22} {
		dry.equal(t, member, want)
	}
	for _, list := range []string{"/profiles", "/proxies", "/audit?action=profiles.import"} {
		a.do(t, "GET", list, nil).want(t, 200).equal(t, "total", 0)
	}
	r := a.imported(t, "?workspaceId=w", file).want(t, 201)
	if got := r.codes("profiles.0"); !slices.Equal(got, []string{"left_out", "left_out", "left_out", "left_out"}) {
		t.Errorf("%v: %s", got, r)
	}
	if bytes.Contains(r.body, []byte("se:cret")) || bytes.Contains(r.body, []byte("not taken")) {
		t.Errorf("the answer tells a password: %s", r)
	}
	p := a.do(t, "GET", "/profiles/"+r.text("profiles.0.id"), nil).want(t, 200)
	for member, want := range map[string]any{"name": "Berlin 1", "os": "win", "tags.0": "Shop", "screen.width": 1680, "workspaceId": "w",
		"proxyId": r.text("profiles.0.proxyId"), "lastStartedAt": nil} {
		p.equal(t, member, want)
	}
	secret := a.do(t, "GET", "/proxies/"+r.text("profiles.0.proxyId")+"/secret", nil).want(t, 200)
	secret.equal(t, "password", "se:cret")
	a.do(t, "POST", "/profiles/"+r.text("profiles.2.id")+"/start", nil).refused(t, 409, "proxy_missing")
	again := a.imported(t, "?workspaceId=w", bytes.ReplaceAll(file, []byte("se:cret"), []byte("other"))).want(t, 201)
	again.equal(t, "profiles.0.proxy", "existing")
	again.equal(t, "profiles.0.proxyId", r.text("profiles.0.proxyId"))
	if got := again.codes("profiles.0"); !slices.Contains(got, "proxy_password") {
		t.Errorf("%v", got)
	}
	a.do(t, "GET", "/audit?action=profiles.import", nil).want(t, 200).equal(t, "total", 2)
	entries, err := os.ReadDir(filepath.Join(a.dir, "profiles"))
	if err != nil || len(entries) != 2 { // of the profiles with cookies, each under its own name
		t.Errorf("%v, %v", entries, err)
	}
	for _, e := range entries {
		sealed, err := os.ReadFile(filepath.Join(a.dir, "profiles", e.Name(), "state.sealed"))
		if err != nil || bytes.Contains(sealed, []byte("shop.example")) {
			t.Errorf("%v: %.80q", err, sealed)
		}
	}
}

// TestImportOthersFaults: a profile that cannot be read is told and the others are taken. A file with none is refused, and leaves nothing.
func TestImportOthersFaults(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	r := a.imported(t, "", exportOf(t, "list.csv"), "Idempotency-Key", "k").want(t, 201)
	for member, want := range map[string]any{"format": "csv", "created": 2, "refused": 2, "profiles.2.result": "refused",
		"profiles.2.id":   "",
		"profiles.2.line": 4} {
		r.equal(t, member, want)
	}
	same := a.imported(t, "", exportOf(t, "list.csv"), "Idempotency-Key", "k").want(t, 201)
	same.equal(t, "profiles.0.id", r.text("profiles.0.id"))
	long := strings.Repeat("x", 201)
	two := a.imported(t, "", []byte("name,tags\na,\""+strings.Repeat("t,", 60)+long+"\"\na,\n"+long+",\nb\x00c,\n")).want(t, 201)
	two.equal(t, "refused", 2)
	if got := append(two.codes("profiles.0"), two.codes("profiles.1")...); !slices.Equal(got, []string{"setting_left_out", "same_name"}) {
		t.Errorf("%v: %s", got, two)
	}
	a.do(t, "GET", "/profiles", nil).want(t, 200).equal(t, "total", 4)
	for _, text := range []string{"name,name\n", "hello", "{", `[{"fakey":"x"}]`, "name=Z\xfcrich\n", "name,notes\nb\x00c,\n"} {
		a.imported(t, "", []byte(text)).refused(t, 422, "archive_refused")
	}
	a.imported(t, "?as=same", []byte("name\na\n")).invalid(t, "query.as")
	a.imported(t, "?dryRun=perhaps", []byte("name\na\n")).invalid(t, "query.dryRun")
	a.do(t, "GET", "/profiles", nil).want(t, 200).equal(t, "total", 4)
}

// TestImportThousand prints how long 1,000 profiles with proxies and 30 cookies each take.
func TestImportThousand(t *testing.T) {
	testnet.Long(t)
	a := newAPI(t)
	var file strings.Builder
	for i := range 1000 {
		var cookies []string
		for j := range 30 {
			cookies = append(cookies, fmt.Sprintf(`{"domain":".s%d.example","name":"c%d","value":"%s","expirationDate":1830000000}`,
				j%10, j,
				strings.Repeat("v", 100)))
		}
		fmt.Fprintf(&file, "acc_id=%d\nname=Profile %d\ncookie=[%s]\nproxytype=socks5\nproxy=p%d.example:1080:user:password\n****\n", i, i,
			strings.Join(cookies, ","), i)
	}
	began := time.Now()
	r := a.imported(t, "", []byte(file.String())).want(t, 201)
	t.Logf("%d bytes in %v", file.Len(), time.Since(began))
	r.equal(t, "created", 1000)
	r.equal(t, "proxies", 1000)
	r.equal(t, "profiles.999.cookies", 30)
}
