//go:build !windows

package browser

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOpenPages(t *testing.T) {
	p := newProfile(t)
	b := p.start()
	if err := b.OpenPages(t.Context(), []string{"http://a.test/one", "https-like.test"}); err == nil {
		t.Error("a URL without a scheme was taken")
	}
	if got := urls(t, b); !slices.Equal(got, []string{"about:blank"}) {
		t.Errorf("a refused call opened %v", got)
	}
	wanted := []string{"http://a.test/one", "http://b.test/two", "http://c.test/three?x=%20#part"}
	ctx, cancel := context.WithCancel(t.Context())
	if err := b.OpenPages(ctx, wanted); err != nil {
		t.Fatal(err)
	}
	cancel()
	p.site.Await(t, "a.test/one", "b.test/two", "c.test/three")
	for _, path := range []string{"/one", "/two", "/three"} {
		pageAt(t, b, path)
	}
	if got := urls(t, b); len(got) != 3 || slices.Contains(got, "about:blank") {
		t.Errorf("the tabs show %v: want three and no blank one", got)
	}
	if err := b.OpenPages(t.Context(), wanted); err != nil {
		t.Fatal(err)
	}
	if got := urls(t, b); len(got) != 3 {
		t.Errorf("opening again what is open made %v", got)
	}
	if err := b.OpenPages(t.Context(), nil); err != nil {
		t.Errorf("no pages: %v", err)
	}
	for _, host := range []string{"a.test:80", "b.test:80", "c.test:80"} {
		if !slices.Contains(p.site.Asked(), host) {
			t.Errorf("the relay was not asked for %s", host)
		}
	}
}

// TestOpenPagesDoesNotWaitForTheSite: a site that does not answer does not delay the start, and keeps loading.
func TestOpenPagesDoesNotWaitForTheSite(t *testing.T) {
	p := newProfile(t)
	answer := make(chan struct{})
	p.site.Mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		<-answer
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<title>slow</title>"))
	})
	b := p.start()
	began := time.Now()
	err := b.OpenPages(t.Context(), []string{"http://a.test/slow", "http://b.test/slow"})
	took := time.Since(began)
	if err != nil || took > 10*time.Second {
		t.Errorf("%v after %v", err, took)
	}
	t.Logf("two tabs taken in %v", took)
	close(answer)
	pageAt(t, b, "/slow")
}

// TestOpenPagesOfDeadProxy: a URL that cannot be loaded gives a page with an error, not an error of the start.
func TestOpenPagesOfDeadProxy(t *testing.T) {
	p := newProfile(t)
	b := p.start()
	if err := b.OpenPages(t.Context(), []string{"http://refused.example/"}); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.OpenPages(ctx, []string{"http://a.test/"}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	b.Stop(t.Context(), false)
	if err := b.OpenPages(t.Context(), []string{"http://a.test/"}); err == nil {
		t.Error("a stopped browser opened a page")
	}
}

// TestHostileURLs: a user's URL reaches nothing but Page.navigate, and only http, https and about:blank reach that.
func TestHostileURLs(t *testing.T) {
	p := newProfile(t)
	b := p.start()
	marker := filepath.Join(t.TempDir(), "marker")
	for _, url := range []string{
		"--renderer-cmd-prefix=touch " + marker, "--no-sandbox", "-", "", " ", "file:///etc/passwd", "FILE:///etc/passwd",
		"file://localhost/etc/passwd",
		"javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\nscript:alert(1)", "\x01javascript:alert(1)", "chrome://settings",
		"chrome://crash", "chrome-extension://x/y",
		"view-source:http://a.test/", "view-source:file:///etc/passwd", "data:text/html,<script>1</script>", "blob:http://a.test/x",
		"filesystem:http://a.test/x",
		"about:version", "about:blank#x", "About:blank", "devtools://devtools", "ftp://a.test/", "http:", "http://", "http:///path",
		"//a.test/", "http//a.test",
		" http://a.test/", "http://a.test/\x00", "http://a.test/\nx", "http://%zz/", "http://[::1", "ws://a.test/", "intent://x",
		"mailto:x@y", "\u202ehttp://a.test",
	} {
		refusal := CheckURL(url)
		if err := b.OpenPages(t.Context(), []string{url}); err == nil || refusal == nil || err.Error() != refusal.Error() {
			t.Errorf("%q: %v, want the refusal %v", url, err, refusal)
		}
	}
	if got := urls(t, b); !slices.Equal(got, []string{"about:blank"}) {
		t.Errorf("the tabs show %v", got)
	}
	for _, url := range []string{"http://a.test/--renderer-cmd-prefix=x", "HTTP://A.test/%0d%0a?--no-sandbox"} {
		if err := b.OpenPages(t.Context(), []string{url}); err != nil {
			t.Errorf("%q: %v", url, err)
		}
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a URL ran a program")
	}
	args := commandLine(b.PID())
	if len(args) == 0 || slices.ContainsFunc(
		args, func(a string) bool { return strings.Contains(a, "a.test") || strings.Contains(a, "renderer-cmd") }) {
		t.Errorf("Chrome's command line: %q", args)
	}
}
