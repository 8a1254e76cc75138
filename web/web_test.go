package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
)

func newSite(t *testing.T) *Site {
	t.Helper()
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask sends a request to the handler of its path; the test fails without one.
func ask(t *testing.T, s *Site, method, urlPath string) *http.Response {
	t.Helper()
	h, ok := s.Lookup(urlPath)
	if !ok {
		t.Fatalf("Lookup(%q): nothing there", urlPath)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, urlPath, nil))
	return w.Result()
}

func textOf(t *testing.T, s *Site, urlPath string) string {
	t.Helper()
	return string(s.answers[urlPath].body)
}

func TestEveryAnswerHasTheSecurityHeaders(t *testing.T) {
	s := newSite(t)
	want := map[string]string{
		"X-Content-Type-Options":       "nosniff",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Content-Security-Policy":      policy(),
	}
	for urlPath := range s.answers {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			header := ask(t, s, method, urlPath).Header
			for name, value := range want {
				if got := header.Get(name); got != value {
					t.Errorf("%s %s: %s is %q, want %q", method, urlPath, name, got, value)
				}
			}
			for name := range header {
				if strings.HasPrefix(name, "Access-Control-") || name == "Set-Cookie" {
					t.Errorf("%s %s: has %s", method, urlPath, name)
				}
			}
		}
	}
}

func TestThePolicyLetsNothingElseIn(t *testing.T) {
	csp := policy()
	for _, must := range []string{"default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
		"require-trusted-types-for 'script'", "trusted-types 'none'", "style-src 'self'", "connect-src 'self'"} {
		if !strings.Contains(csp, must) {
			t.Errorf("the policy has no %s: %s", must, csp)
		}
	}
	for _, never := range []string{"unsafe-", "*", "http:", "https:", "data:", "blob:"} {
		if strings.Contains(csp, never) {
			t.Errorf("the policy has %s: %s", never, csp)
		}
	}
}

func TestNoDocumentHasAScriptOfItsOwn(t *testing.T) {
	s := newSite(t)
	script := regexp.MustCompile(`(?s)<script([^>]*)>(.*?)</script>`)
	for _, d := range documents {
		found := script.FindAllStringSubmatch(textOf(t, s, d.path), -1)
		if len(found) != 1 || found[0][2] != "" || !strings.Contains(found[0][1], ` src="`) {
			t.Errorf("%s: want one script, from a file: %q", d.path, found)
		}
	}
}

// TestAnswersAreCompressed: a browser gets Brotli, another client what it takes, and each form is the whole file.
func TestAnswersAreCompressed(t *testing.T) {
	s := newSite(t)
	for urlPath, a := range s.answers {
		for takes, coding := range map[string]string{"": "", "identity": "", "gzip, deflate": "gzip", "gzip, deflate, br, zstd": "br",
			"br;q=0, gzip;q=0.5": "gzip", "GZIP": "gzip", "gzip;q=0.0": ""} {
			if path.Ext(urlPath) == ".woff2" {
				coding = ""
			}
			h, _ := s.Lookup(urlPath)
			w, r := httptest.NewRecorder(), httptest.NewRequest("GET", urlPath, nil)
			r.Header.Set("Accept-Encoding", takes)
			h.ServeHTTP(w, r)
			if got := w.Header().Get("Content-Encoding"); got != coding {
				t.Errorf("%s with Accept-Encoding %q: Content-Encoding is %q, want %q", urlPath, takes, got, coding)
			}
			var body io.Reader = w.Body
			switch coding {
			case "br":
				body = brotli.NewReader(body)
			case "gzip":
				z, err := gzip.NewReader(body)
				if err != nil {
					t.Fatal(err)
				}
				body = z
			}
			if whole, err := io.ReadAll(body); err != nil || !bytes.Equal(whole, a.body) {
				t.Errorf("%s as %q is not the file: %v", urlPath, coding, err)
			}
		}
	}
}

// TestFewBytesAreSent: what the page reads before it is drawn stays small, whoever adds to it. Lists come on top.
func TestFewBytesAreSent(t *testing.T) {
	s := newSite(t)
	sum, files := 0, []string{"/", s.base + "inter.woff2", s.base + "flags.svg"}
	for _, m := range reference.FindAllStringSubmatch(textOf(t, s, "/"), -1) {
		files = append(files, path.Join("/", m[1]))
	}
	for _, f := range files {
		a := s.answers[f]
		switch {
		case a == nil:
			t.Fatalf("%s is not there", f)
		case a.brotli == nil:
			sum += len(a.body)
		default:
			sum += len(a.brotli())
		}
	}
	if t.Logf("%d files, %d bytes", len(files), sum); sum > 120_000 || len(files) > 8 {
		t.Errorf("the page needs %d bytes in %d files before it is drawn: %q", sum, len(files), files)
	}
}

func TestDocumentsAreNeverCachedAndAssetsForEver(t *testing.T) {
	s := newSite(t)
	for urlPath := range s.answers {
		want := cacheForever
		switch {
		case urlPath == "/" || urlPath == "/docs" || urlPath == "/live":
			want = cacheNever
		case urlPath == "/favicon.ico":
			want = cacheDay
		case !strings.HasPrefix(urlPath, s.base):
			t.Errorf("%s stands outside of %s", urlPath, s.base)
		}
		if got := ask(t, s, "GET", urlPath).Header.Get("Cache-Control"); got != want {
			t.Errorf("%s: Cache-Control is %q, want %q", urlPath, got, want)
		}
	}
}

func TestTypes(t *testing.T) {
	s := newSite(t)
	for urlPath, want := range map[string]string{
		"/":                        "text/html; charset=utf-8",
		"/docs":                    "text/html; charset=utf-8",
		"/live":                    "text/html; charset=utf-8",
		"/favicon.ico":             "image/svg+xml",
		s.base + "app.js":          "text/javascript; charset=utf-8",
		s.base + "style.css":       "text/css; charset=utf-8",
		s.base + "inter.woff2":     "font/woff2",
		s.base + "favicon.svg":     "image/svg+xml",
		s.base + "chevron.svg":     "image/svg+xml",
		s.base + "LICENSE-htm.txt": "text/plain; charset=utf-8",
	} {
		if got := ask(t, s, "GET", urlPath).Header.Get("Content-Type"); got != want {
			t.Errorf("%s: Content-Type is %q, want %q", urlPath, got, want)
		}
	}
}

func TestMethods(t *testing.T) {
	s := newSite(t)
	head := ask(t, s, "HEAD", "/")
	if head.StatusCode != 200 || head.ContentLength <= 0 {
		t.Errorf("HEAD /: status %d, length %d", head.StatusCode, head.ContentLength)
	}
	if body := make([]byte, 1); must(head.Body.Read(body)) != 0 {
		t.Error("HEAD /: has a body")
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
		r := ask(t, s, method, "/")
		if r.StatusCode != 405 || r.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s /: status %d, Allow %q; want 405 and GET, HEAD", method, r.StatusCode, r.Header.Get("Allow"))
		}
	}
}

func must(n int, _ error) int { return n }

func TestWhatIsNotThePages(t *testing.T) {
	s := newSite(t)
	for _, urlPath := range []string{
		"", "/index.html", "/docs/", "/live/", "/live.html", "/docs.html", "/web.go", "/api/v1/profiles", "/static/", s.base,
		s.base + "static", s.base + "web.go", s.base + "preact.mjs", s.base + "static/app.js",
		s.base + "index.html", s.base + "README.md", s.base + "../static/app.js", s.base + "/app.js",
		"/static/00000000000000000000/app.js", "/favicon.svg", "//", "/openapi.json",
	} {
		if _, ok := s.Lookup(urlPath); ok {
			t.Errorf("Lookup(%q) found something", urlPath)
		}
	}
}

func TestTheHashFollowsTheContents(t *testing.T) {
	base := map[string][]byte{"a.js": []byte("one"), "b.js": []byte("two")}
	same := map[string][]byte{"b.js": []byte("two"), "a.js": []byte("one")}
	if hashOf(base) != hashOf(same) {
		t.Error("the same files have two hashes")
	}
	for what, other := range map[string]map[string][]byte{
		"a changed byte":  {"a.js": []byte("onE"), "b.js": []byte("two")},
		"another name":    {"a.js": []byte("one"), "c.js": []byte("two")},
		"a moved byte":    {"a.js": []byte("onet"), "b.js": []byte("wo")},
		"swapped content": {"a.js": []byte("two"), "b.js": []byte("one")},
		"a file less":     {"a.js": []byte("one")},
	} {
		if hashOf(base) == hashOf(other) {
			t.Errorf("%s has the same hash", what)
		}
	}
}

// reference matches the addresses in documents and styles: src, href, url(…).
var reference = regexp.MustCompile(`(?:\b(?:src|href)="|url\(["']?)([^")#']+)`)

// laterReference matches the addresses in bundles: import("./…"), and new URL("…", import.meta.url).
var laterReference = regexp.MustCompile(`(?:import\("\./|new URL\(")([^"]+)"(?:\)|,import\.meta\.url)`)

func TestEveryAssetIsThereAndIsUsed(t *testing.T) {
	s := newSite(t)
	used := map[string]bool{"/favicon.ico": true}
	for _, d := range documents {
		used[d.path] = true
		for _, m := range reference.FindAllStringSubmatch(textOf(t, s, d.path), -1) {
			used[path.Join("/", m[1])] = true
		}
	}
	for urlPath := range s.answers {
		if path.Ext(urlPath) == ".txt" { // licences, which people look for
			used[urlPath] = true
		}
		for _, name := range namedBy(urlPath, textOf(t, s, urlPath)) {
			used[path.Join(path.Dir(urlPath), name)] = true
		}
	}
	for urlPath := range used {
		if _, ok := s.Lookup(urlPath); !ok {
			t.Errorf("%s is named and not there", urlPath)
		}
	}
	for urlPath := range s.answers {
		if !used[urlPath] {
			t.Errorf("%s is there and nothing names it", urlPath)
		}
	}
}

// namedBy returns the names of files in a style or a bundle.
func namedBy(name, text string) (names []string) {
	of := map[string][]*regexp.Regexp{".css": {reference}, ".js": {laterReference, importStatement}}[path.Ext(name)]
	for _, pattern := range of {
		for _, m := range pattern.FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
	}
	return names
}

func TestAModuleThatIsMissingIsAnError(t *testing.T) {
	assets := map[string][]byte{"app.js": []byte("import { a } from './gone.js';\n")}
	if _, err := modulesOf("app.js", assets); err == nil || !strings.Contains(err.Error(), "./gone.js") {
		t.Errorf("modulesOf: %v, want an error that names ./gone.js", err)
	}
}

// harmless are addresses in our files that are not fetched.
var harmless = []string{"http://www.w3.org/2000/svg", "https://…", "https://example.com/", "http://</code>", "https://</code>"}

func TestNothingComesFromAnotherHost(t *testing.T) {
	eachOfOurs(t, func(name, text string) {
		for _, word := range harmless {
			text = strings.ReplaceAll(text, word, "")
		}
		for _, sign := range []string{"http://", "https://", `="//`, "url(//", "@import url", `@import "//`, "'//"} {
			if i := strings.Index(text, sign); i >= 0 {
				t.Errorf("%s names another host: %s", name, text[i:min(len(text), i+60)])
			}
		}
	})
}

// sink matches the ways in which a string becomes markup, script or style.
var sink = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|setHTML|document\.write|\beval\b|new Function|` +
	`dangerouslySet|srcdoc|createContextualFragment|DOMParser|createPolicy|javascript:|\bstyle="|\bon[a-z]+="|` +
	`setTimeout\(\s*['"` + "`" + `]|import\([^'.]|import\('[^.]`)

func TestNoStringBecomesCode(t *testing.T) {
	eachOfOurs(t, func(name, text string) {
		if found := sink.FindString(text); found != "" {
			t.Errorf("%s has %s", name, found)
		}
	})
}

// eachOfOurs shows the documents, and the modules and styles as they are written.
func eachOfOurs(t *testing.T, look func(name, text string)) {
	t.Helper()
	count := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(name, "static/") && path.Ext(name) != ".html" {
			return err
		}
		body, err := os.ReadFile(name)
		count++
		look(name, string(body))
		return err
	})
	if err != nil || count < 60 {
		t.Fatalf("read %d files: %v", count, err)
	}
}
