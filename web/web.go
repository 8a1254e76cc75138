// Package web serves Warren's page: its documents, styles and ES modules, embedded in the binary. It knows only the
// API's paths; the page itself reads everything that it shows from the API.
//
// The modules of static/ are bundled into dist/ by `make web`, and dist/ is committed, as generated code is: the page needs
// few requests, and a build needs Go alone. Nothing is loaded from other hosts, and only these scripts run. Assets are
// served below the hash of all assets and cached for ever. The documents, which contain the hash, are never cached. All
// addresses in documents are relative, so that the page works below a path of a reverse proxy.
package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
)

//go:embed index.html docs.html live.html dist vendor static/favicon.svg static/chevron.svg
var files embed.FS

// documents are the pages: path, file, and entry module.
var documents = []struct{ path, file, entry string }{
	{"/", "index.html", "app.js"},
	{"/docs", "docs.html", "docs.js"},
	{"/live", "live.html", "live.js"},
}

const (
	cacheNever   = "no-store"
	cacheForever = "public, max-age=31536000, immutable"
	cacheDay     = "public, max-age=86400"
)

// Site serves the page and its assets.
type Site struct {
	base    string // prefix of the assets, "/static/<hash>/"
	answers map[string]*answer
}

// New reads the embedded files. An error means that the binary was built from broken files.
func New() (*Site, error) {
	assets, err := readAssets(files)
	if err != nil {
		return nil, err
	}
	s := &Site{base: "/static/" + hashOf(assets) + "/", answers: map[string]*answer{}}
	for name, body := range assets {
		s.answers[s.base+name] = newAnswer(body, contentType(name), cacheForever)
	}
	// Browsers request this path on their own, for example for a plain JSON answer.
	s.answers["/favicon.ico"] = newAnswer(assets["favicon.svg"], contentType("favicon.svg"), cacheDay)
	for _, d := range documents {
		body, err := s.document(d.file, d.entry, assets)
		if err != nil {
			return nil, err
		}
		s.answers[d.path] = newAnswer(body, "text/html; charset=utf-8", cacheNever)
	}
	return s, nil
}

// Lookup returns the handler of a URL path: the page, its documentation, or an asset. It returns false for any other
// path. The handler answers GET and HEAD, and other methods with 405.
func (s *Site) Lookup(urlPath string) (http.Handler, bool) {
	a, ok := s.answers[urlPath]
	if !ok {
		return nil, false
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, a) }), true
}

func (s *Site) serve(w http.ResponseWriter, r *http.Request, a *answer) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy())
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	a.serve(w, r)
}

// policy returns the Content-Security-Policy of every answer. Trusted Types are required and no policy may be
// created, so that no string can become markup or script, whatever a name or a tag contains.
func policy() string {
	return strings.Join([]string{
		"default-src 'none'",
		"script-src 'self'",
		"style-src 'self'",
		"img-src 'self'",
		"font-src 'self'",
		"connect-src 'self'",
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
		"require-trusted-types-for 'script'",
		"trusted-types 'none'",
	}, "; ")
}

// document fills in a page's template: the assets' base, and a preload for each module that the entry imports.
// Browsers then fetch all modules at once, instead of one import after another.
func (s *Site) document(file, entry string, assets map[string][]byte) ([]byte, error) {
	text, err := files.ReadFile(file)
	if err != nil {
		return nil, err
	}
	modules, err := modulesOf(entry, assets)
	if err != nil {
		return nil, err
	}
	var preload strings.Builder
	for _, m := range modules[1:] {
		fmt.Fprintf(&preload, "<link rel=\"modulepreload\" href=\".%s%s\">\n", s.base, m)
	}
	r := strings.NewReplacer("{{base}}", "."+s.base, "{{preload}}\n", preload.String())
	return []byte(r.Replace(string(text))), nil
}

// modulesOf lists a module and all that it imports at once, each once, in the order of discovery.
func modulesOf(entry string, assets map[string][]byte) ([]string, error) {
	seen := map[string]bool{entry: true}
	list := []string{entry}
	for i := 0; i < len(list); i++ {
		for _, m := range importStatement.FindAllSubmatch(assets[list[i]], -1) {
			file := path.Join(path.Dir(list[i]), string(m[1]))
			if _, ok := assets[file]; !ok {
				return nil, fmt.Errorf("web: %s imports %q, which is not there", list[i], m[1])
			}
			if !seen[file] {
				seen[file] = true
				list = append(list, file)
			}
		}
	}
	return list, nil
}

// importStatement matches `import … from "./name"`, as the bundler writes it: at the start of a line or of a statement.
var importStatement = regexp.MustCompile(`(?m)(?:^|;)import\s*(?:[\w*{][^;'"]*from\s*)?["'](\.[^"']+)["']`)

// readAssets returns the files to serve by their names. Vendored modules are in the bundles, and not served alone.
func readAssets(files fs.FS) (map[string][]byte, error) {
	assets := map[string][]byte{}
	for _, dir := range []string{"static", "vendor", "dist"} {
		err := fs.WalkDir(files, dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || contentType(name) == "" {
				return err
			}
			assets[path.Base(name)], err = fs.ReadFile(files, name)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return assets, nil
}

// contentType uses its own list, since the system's table differs between machines. With nosniff a module of another
// type does not run. Files of other types are not served.
func contentType(name string) string {
	return map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
		".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8"}[path.Ext(name)]
}

// hashOf returns the assets' hash: 80 bits of SHA-256 over each name and file, in order.
func hashOf(assets map[string][]byte) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(assets)) {
		fmt.Fprintf(h, "%s %d\n", name, len(assets[name]))
		h.Write(assets[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:10])
}
