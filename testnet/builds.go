package testnet

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
)

// Build is a build of Chrome for Testing that a test's mirror serves. Its program is a script that tells the version.
type Build struct {
	Version  string
	Tampered bool            // the archive is not the one that the list vouches for
	Missing  bool            // the mirror answers 503 in place of the archive
	Rest     <-chan struct{} // if set, the second half of the archive comes when this is closed
}

// ServeBuilds serves builds for every platform until the test ends, and returns the mirror's address. It skips the test where no script
// runs, or where Chrome for Testing has no builds.
func ServeBuilds(t testing.TB, builds ...Build) string {
	t.Helper()
	if runtime.GOOS == "windows" || runtime.GOOS == "linux" && runtime.GOARCH != "amd64" {
		t.Skipf("a script as a build of Chrome for Testing does not run on %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	files := map[string]Build{}
	var list []any
	for _, b := range builds {
		address := "/" + b.Version + ".zip"
		files[address] = b
		var downloads []any
		for _, platform := range []string{"linux64", "mac-arm64", "mac-x64"} {
			downloads = append(downloads, map[string]string{"platform": platform, "url": address,
				"sha256": fmt.Sprintf("%x", sha256.Sum256(buildArchive(t, b.Version)))})
		}
		list = append(list, map[string]any{"version": b.Version, "downloads": map[string]any{"chrome": downloads}})
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, ok := files[r.URL.Path]
		switch {
		case r.URL.Path == "/known-good-versions-with-downloads.json":
			json.NewEncoder(w).Encode(map[string]any{"versions": list}) //nolint:errcheck // the client may be gone
		case ok && !b.Missing:
			b.serve(t, w, r)
		case ok:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func (b Build) serve(t testing.TB, w http.ResponseWriter, r *http.Request) {
	text := buildArchive(t, b.Version)
	if b.Tampered {
		text[len(text)/2] ^= 1
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(text)))
	w.Write(text[:len(text)/2])           //nolint:errcheck // the client may be gone
	http.NewResponseController(w).Flush() //nolint:errcheck // as above
	if b.Rest != nil {
		select {
		case <-b.Rest:
		case <-r.Context().Done():
			return
		}
	}
	w.Write(text[len(text)/2:]) //nolint:errcheck // as above
}

// buildArchive is the archive of a build: a real one has 150 MB.
func buildArchive(t testing.TB, version string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	h := &zip.FileHeader{Name: "chrome-linux64/chrome", Method: zip.Store}
	h.SetMode(0o755)
	f, err := z.CreateHeader(h)
	if err == nil {
		_, err = fmt.Fprintf(f, "#!/bin/sh\necho Google Chrome for Testing %s\n", version)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Error(err)
	}
	return b.Bytes()
}
