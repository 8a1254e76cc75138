//go:build !windows

package builds

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"warren/browser"
)

// entry is a file of an archive.
type entry struct {
	name, text string
	mode       fs.FileMode
}

func archive(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(e.mode)
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// chromeZip is a build whose program is a script that tells a version: a real one has 150 MB.
func chromeZip(t *testing.T, version string, more ...entry) []byte {
	return archive(t, append([]entry{{"chrome-linux64/", "", fs.ModeDir | 0o755},
		{"chrome-linux64/chrome", "#!/bin/sh\necho Google Chrome for Testing " + version, 0o755},
		{"chrome-linux64/locales/de.pak", "de", 0o644}}, more...)...)
}

// testMirror serves a list of builds and files. A file may be a function.
func testMirror(t *testing.T, files map[string]any) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch f := files[r.URL.Path].(type) {
		case []byte:
			w.Write(f)
		case string:
			w.Write([]byte(f))
		case func(http.ResponseWriter):
			f(w)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// listOf is a list of builds for this platform: pairs of a version and the other members of its download.
func listOf(t *testing.T, versions ...[2]string) string {
	t.Helper()
	if platformName() == "" {
		t.Skip("Chrome for Testing has no builds for this platform, so there is nothing to install")
	}
	var all []string
	for _, v := range versions {
		all = append(all, fmt.Sprintf(`{"version":%q,"revision":"1",`+
			`"downloads":{"chrome":[{"platform":"other","url":"other.zip"},{"platform":%q,%s}],"chromedriver":[]}}`, v[0], platformName(),
			v[1]))
	}
	return `{"timestamp":"2026-11-21T00:00:00Z","versions":[` + strings.Join(all, ",") + `]}`
}

func sumOf(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

// left returns what a failed installation left behind.
func left(t *testing.T, folder string) (names []string) {
	t.Helper()
	filepath.WalkDir(folder, func(p string, d fs.DirEntry, err error) error {
		if p != folder && err == nil {
			names = append(names, p)
		}
		return nil
	})
	return names
}

// TestInstall: the newest build of a major is installed from a mirror, with each of the three checksums, and only once, and is removed
// again.
func TestInstall(t *testing.T) {
	old, good, stored := chromeZip(t, "124.0.6367.9"), chromeZip(t, "124.0.6367.207"), chromeZip(t, "131.0.6778.204")
	asked := 0
	s := testMirror(t, map[string]any{
		"/m/" + indexName: listOf(t, [2]string{"124.0.6367.9", `"url":"b/old.zip"`},
			[2]string{"124.0.6367.207", `"url":"b/good.zip","sha256":"` + sumOf(good) + `"`},
			[2]string{"131.0.6778.204", `"url":"/stored.zip"`}, [2]string{"99.0.1.1", `"url":"b/none.zip","sha256":"` + sumOf(good) + `"`}),
		"/m/b/old.zip": old, "/m/b/old.zip.sha256": sumOf(old) + "  old.zip\n",
		"/m/b/good.zip": func(w http.ResponseWriter) { asked++; w.Write(good) },
		"/stored.zip": func(w http.ResponseWriter) {
			sum := md5.Sum(stored)
			w.Header().Add("X-Goog-Hash", "crc32c=AAAAAA==")
			w.Header().Add("X-Goog-Hash", "md5="+base64.StdEncoding.EncodeToString(sum[:]))
			w.Write(stored)
		},
	})
	folder := filepath.Join(t.TempDir(), "browsers")
	if err := os.MkdirAll(filepath.Join(folder, unfinishedPrefix+"killed"), 0o700); err != nil {
		t.Fatal(err)
	}
	install := func(version string) (browser.Installed, bool) {
		t.Helper()
		found, fresh, err := Install(t.Context(), Installation{Mirror: s.URL + "/m", Version: version, Folder: folder})
		if err != nil {
			t.Fatal(err)
		}
		return found, fresh
	}
	found, fresh := install("124")
	if want := filepath.Join(folder, "124.0.6367.207", "chrome-linux64", "chrome"); !fresh || found.Path != want ||
		found.Version != "124.0.6367.207" {
		t.Errorf("%+v, fresh %v; want %s", found, fresh, want)
	}
	if info, err := os.Stat(filepath.Join(folder, "124.0.6367.207/chrome-linux64/locales/de.pak")); err != nil ||
		info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	for _, again := range []string{"124", "124.0.6367.207"} {
		if found, fresh := install(again); fresh || found.Major != 124 || asked != 1 {
			t.Errorf("%s again: %+v, fresh %v, fetched %d times", again, found, fresh, asked)
		}
	}
	install("124.0.6367.9")
	install("131")
	entries, _ := os.ReadDir(folder)
	if len(entries) != 3 {
		t.Errorf("%v", entries)
	}
	for what, want := range map[string]bool{
		"131.0.6778.204": true, "131": false, found.Path: true, "/etc/passwd": false, filepath.Join(folder, "..", "x"): false,
		"99.9.9.9": false} {
		if gone, err := Remove(folder, what); gone != want || err != nil {
			t.Errorf("remove %s: %v, %v", what, gone, err)
		}
	}
	if entries, _ := os.ReadDir(folder); len(entries) != 1 || entries[0].Name() != "124.0.6367.9" {
		t.Errorf("after the removals: %v", entries)
	}
	for version, want := range map[string]string{
		"98": "its majors are 99 to 131", "124.0": "no version", "latest": "no version", "../1": "no version", "99": "404"} {
		if _, _, err := Install(t.Context(), Installation{Mirror: s.URL + "/m", Version: version, Folder: folder}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", version, err, want)
		}
	}
}

// TestInstallRefuses: a build without a checksum, with a wrong one, incomplete, or with files outside of its folder is refused, and nothing
// is left.
func TestInstallRefuses(t *testing.T) {
	good := chromeZip(t, "124.0.6367.207")
	link := func(name, target string) []byte {
		return chromeZip(t, "124.0.6367.207", entry{name, target, fs.ModeSymlink | 0o777})
	}
	with := func(b []byte) (string, any) { return `,"sha256":"` + sumOf(b) + `"`, b }
	for name, c := range map[string]struct {
		make func() (members string, file any)
		want string
	}{
		"no checksum":     {func() (string, any) { return "", good }, "nothing vouches"},
		"wrong checksum":  {func() (string, any) { return `,"sha256":"` + sumOf([]byte("x")) + `"`, good }, "not what it should be"},
		"broken checksum": {func() (string, any) { return `,"sha256":"abc"`, good }, "sha256"},
		"wrong md5":       {func() (string, any) { return "", goog(good, []byte("x")) }, "not what it should be"},
		"cut off":         {func() (string, any) { return `,"sha256":"` + sumOf(good) + `"`, cutOff(good) }, "broke off"},
		"another version": {func() (string, any) { return with(chromeZip(t, "125.0.1.1")) }, "says that it is 125.0.1.1"},
		"no browser":      {func() (string, any) { return with(archive(t, entry{"chrome-linux64/readme", "x", 0o644})) }, "no browser"},
		"does not run": {func() (string, any) {
			return with(archive(t, entry{"chrome-linux64/chrome", "#!/bin/sh\necho libnss3.so: cannot open >&2; exit 127", 0o755}))
		}, "does not run on this machine, so nothing was installed: it is not a Chromium: --version did not answer with a name and four " +
			"numbers (exit status 127: \"libnss3.so: cannot open\")"},
		"no archive":      {func() (string, any) { return with([]byte("hello")) }, "unpacked"},
		"leads up":        {func() (string, any) { return with(archive(t, entry{"../evil", "x", 0o644})) }, "leads out"},
		"leads up inside": {func() (string, any) { return with(archive(t, entry{"a/../../evil", "x", 0o644})) }, "leads out"},
		"absolute":        {func() (string, any) { return with(archive(t, entry{"/tmp/evil", "x", 0o644})) }, "leads out"},
		"link up":         {func() (string, any) { return with(link("chrome-linux64/l", "../../evil")) }, "leads out"},
		"link absolute":   {func() (string, any) { return with(link("chrome-linux64/l", "/etc/passwd")) }, "leads out"},
		"link to nowhere": {func() (string, any) { return with(link("chrome-linux64/l", "none")) }, "nowhere"},
		"file behind link": {func() (string, any) {
			return with(archive(t, entry{"d", "chrome-linux64", fs.ModeSymlink | 0o777}, entry{"d/chrome", "x", 0o755}))
		}, "file exists"},
		"twice": {func() (string, any) { return with(chromeZip(t, "1.1.1.1", entry{"chrome-linux64/chrome", "x", 0o755})) },
			"file exists"},
		"redirect": {func() (string, any) { return `,"sha256":"` + sumOf(good) + `"`, redirect("http://192.0.2.7/b.zip") },
			"is refused"},
		"redirect to file": {func() (string, any) { return `,"sha256":"` + sumOf(good) + `"`, redirect("file:///etc/passwd") }, ""},
		"too large": {func() (string, any) {
			return `,"sha256":"` + sumOf(good) + `"`, func(w http.ResponseWriter) { w.Header().Set("Content-Length", "2147483648") }
		}, "larger than 1024 MiB"},
		"error": {func() (string, any) {
			return `,"sha256":"` + sumOf(good) + `"`, func(w http.ResponseWriter) { w.WriteHeader(500) }
		}, "answered 500"},
	} {
		t.Run(name, func(t *testing.T) {
			members, file := c.make()
			s := testMirror(t, map[string]any{
				"/" + indexName: listOf(t, [2]string{"124.0.6367.207", `"url":"b.zip"` + members}), "/b.zip": file})
			dir := t.TempDir()
			folder := filepath.Join(dir, "browsers")
			found, fresh, err := Install(t.Context(), Installation{Mirror: s.URL, Version: "124", Folder: folder})
			if err == nil || fresh || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, %v; want %q", found, err, c.want)
			}
			if names := left(t, dir); len(names) > 1 || len(names) == 1 && names[0] != folder {
				t.Errorf("left %v", names)
			}
		})
	}
}

func goog(b, of []byte) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		sum := md5.Sum(of)
		w.Header().Set("X-Goog-Hash", "crc32c=AAAAAA==,md5="+base64.StdEncoding.EncodeToString(sum[:]))
		w.Write(b)
	}
}

func cutOff(b []byte) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", fmt.Sprint(len(b)))
		w.Write(b[:len(b)/2])
	}
}

func redirect(to string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Location", to)
		w.WriteHeader(302)
	}
}

// TestInstallFrom: builds come over https, or over http from this machine. A mirror on https never leads to http.
func TestInstallFrom(t *testing.T) {
	for _, address := range []string{"http://192.0.2.7/m", "http://mirror.example", "ftp://mirror.example", "file:///tmp", "mirror.example",
		"http://127.0.0.1.example/", "https:///x", "http://[::1"} {
		if m, err := openMirror(address); err == nil {
			t.Errorf("%s was taken: %v", address, m.base)
		}
	}
	for _, address := range []string{"", "https://mirror.example/m", "http://127.0.0.1:1/m", "http://localhost", "http://[::1]:1/"} {
		if _, err := openMirror(address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	m, err := openMirror("https://mirror.example")
	if err != nil {
		t.Fatal(err)
	}
	here := *m.base
	here.Scheme, here.Host = "http", "127.0.0.1:1"
	if m.permits(&here) == nil || m.permits(m.base) != nil {
		t.Error("a mirror with https leads to http")
	}
}

// TestInstallCancelled: a cancelled installation leaves nothing.
func TestInstallCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	good := chromeZip(t, "124.0.6367.207")
	s := testMirror(t, map[string]any{"/" +
		indexName: listOf(t, [2]string{"124.0.6367.207", `"url":"b.zip","sha256":"` + sumOf(good) + `"`}),
		"/b.zip": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", fmt.Sprint(len(good)))
			w.Write(good[:10])
			http.NewResponseController(w).Flush()
			cancel()
		}})
	folder := filepath.Join(t.TempDir(), "browsers")
	if _, _, err := Install(ctx, Installation{Mirror: s.URL, Version: "124", Folder: folder}); err == nil {
		t.Error("it went on")
	}
	if names := left(t, folder); len(names) > 0 {
		t.Errorf("left %v", names)
	}
}
