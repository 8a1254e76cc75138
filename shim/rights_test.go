package shim

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// The server alone decides a client's rights, whatever headers the client sends, also over the port for Selenium.
func TestRightsAreNotTheClientsWord(t *testing.T) {
	for _, may := range []Rights{{}, {Files: true}, {Readonly: true}, {Readonly: true, Files: true}} {
		h := http.Header{"X-Warren-Files": {"1", "1"}, "X-Warren-Readonly": {"1"}, "X-Warren-Later": {"1"}, "X-Other": {"1"}}
		may.setHeaders(h)
		if got := (Rights{Readonly: h.Get("X-Warren-Readonly") != "", Files: h.Get("X-Warren-Files") != ""}); got != may {
			t.Errorf("the run's process hears %+v, want %+v", got, may)
		}
		if h.Get("X-Warren-Later") != "" || h.Get("X-Other") != "1" {
			t.Errorf("passed on are %v", h)
		}
		port := requireHost("127.0.0.1:9222", may, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, r.Header.Get("X-Warren-Files")) //nolint:errcheck // a test's recorder
		}))
		r, w := httptest.NewRequest("GET", "http://127.0.0.1:9222/", nil), httptest.NewRecorder()
		r.Header.Set("X-Warren-Files", "1")
		if port.ServeHTTP(w, r); (w.Body.String() == "1") != may.Files {
			t.Errorf("over the port %+v is reported as %q", may, w.Body)
		}
	}
}

// A run's own folder exists when the run does. It is empty and private, whatever was in its place before.
func TestFilesOfARun(t *testing.T) {
	s := emptySpec(t)
	dir := FilesDir(s.ProfileDir)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.MkdirAll(filepath.Join(dir, "downloads", "old"), 0o777); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.makeFiles(); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"", "downloads", "uploads"} {
			info, err := os.Lstat(filepath.Join(dir, name))
			if err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %v %v", name, info, err)
			}
		}
		if left, err := os.ReadDir(filepath.Join(dir, "downloads")); err != nil || len(left) > 0 {
			t.Errorf("in it lie %v, %v", left, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(elsewhere, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, dir); err != nil {
			t.Skip(err)
		}
	}
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
		t.Errorf("a link was followed: %v, %v", left, err)
	}
}
