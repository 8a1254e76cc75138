package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"testing"
)

// rooted matches an address that begins at the host's root, in our scripts and documents.
var rooted = regexp.MustCompile("(?:href|src|action)=[\"']?/|(?:fetch|open)\\([^)]*['\"`]/(?:api|docs|live|version|openapi)" +
	"|= ['\"`]/(?:api|live|static)")

// TestThePageWorksBelowAPath puts a reverse proxy that owns /sub/ before the page. Each address in a document, preloads
// too, is requested as a browser would resolve it. No script names an address at the host's root.
func TestThePageWorksBelowAPath(t *testing.T) {
	s := newSite(t)
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h, ok := s.Lookup(r.URL.Path); ok {
			h.ServeHTTP(w, r)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer inner.Close()
	target, err := url.Parse(inner.URL)
	if err != nil {
		t.Fatal(err)
	}
	outer := httptest.NewServer(http.StripPrefix("/sub", httputil.NewSingleHostReverseProxy(target)))
	defer outer.Close()
	for _, d := range documents {
		page, err := url.Parse(outer.URL + "/sub" + d.path)
		if err != nil {
			t.Fatal(err)
		}
		text := get(t, page.String())
		var named []string
		for _, m := range reference.FindAllStringSubmatch(text, -1) {
			named = append(named, m[1])
		}
		if len(named) < 3 {
			t.Errorf("%s names %d addresses: is the test blind?", d.path, len(named))
		}
		for _, name := range named {
			address, err := page.Parse(name)
			if err != nil {
				t.Fatal(err)
			}
			get(t, address.String())
		}
	}
	eachOfOurs(t, func(name, text string) {
		if found := rooted.FindString(text); found != "" {
			t.Errorf("%s names an address of the host's root: %s", name, found)
		}
	})
}

func get(t *testing.T, address string) string {
	t.Helper()
	r, err := http.Get(address) //nolint:gosec,noctx // our own server
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v", address, r.StatusCode, err)
	}
	return string(body)
}
