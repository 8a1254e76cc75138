// Package web is the page that Warren shows in a browser: its documents, style, and ES modules, embedded in the binary.
// It knows nothing of the API but its paths; everything it shows comes from there, through the page itself.
//
// The rules: nothing is built, nothing comes from another host, and no script runs but the files here. Assets stand
// under the hash of all of them together and are cached for ever; the documents that name the hash never are.
// Every address in them is relative to the document, so that they also work below a path of a reverse proxy.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

//go:embed index.html docs.html live.html static vendor
var files embed.FS

// bareImports are the names by which our modules import what is not theirs.
var bareImports = map[string]string{
	"preact":       "vendor/preact.mjs",
	"preact/hooks": "vendor/hooks.mjs",
	"htm":          "vendor/htm.mjs",
}

// documents are the pages: their path, their file, and the module that each one starts with.
var documents = []struct{ path, file, entry string }{
	{"/", "index.html", "static/app.js"},
	{"/docs", "docs.html", "static/docs.js"},
	{"/live", "live.html", "static/live.js"},
}

const (
	cacheNever   = "no-store"
	cacheForever = "public, max-age=31536000, immutable"
	cacheDay     = "public, max-age=86400"
)

// Site answers the requests for the page and its assets.
type Site struct {
	base    string // where the assets stand, "/static/<hash>/"
	csp     string
	answers map[string]answer
}

type answer struct {
	body        []byte
	contentType string
	cache       string
}

// New reads the embedded files, names them by their hash, and makes the import map and the policy that lets
// the import map, and no other inline script, run. An error means that the binary was built from broken files.
func New() (*Site, error) {
	assets, err := readAssets(files)
	if err != nil {
		return nil, err
	}
	s := &Site{base: "/static/" + hashOf(assets) + "/", answers: map[string]answer{}}
	for name, body := range assets {
		s.answers[s.base+name] = answer{body, contentType(name), cacheForever}
	}
	// Browsers ask for this one unbidden, for example beside a plain JSON answer.
	s.answers["/favicon.ico"] = answer{assets["static/favicon.svg"], contentType("favicon.svg"), cacheDay}
	importMap := s.importMap()
	s.csp = policy(importMap)
	for _, d := range documents {
		body, err := s.document(d.file, d.entry, importMap, assets)
		if err != nil {
			return nil, err
		}
		s.answers[d.path] = answer{body, "text/html; charset=utf-8", cacheNever}
	}
	return s, nil
}

// Lookup finds what stands at an URL path: the page, its documentation, or an asset. It reports false for a path
// that is not the page's; the caller answers that one. The handler answers GET and HEAD, and 405 to the rest.
func (s *Site) Lookup(urlPath string) (http.Handler, bool) {
	a, ok := s.answers[urlPath]
	if !ok {
		return nil, false
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, a) }), true
}

func (s *Site) serve(w http.ResponseWriter, r *http.Request, a answer) {
	h := w.Header()
	h.Set("Content-Security-Policy", s.csp)
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
	h.Set("Cache-Control", a.cache)
	h.Set("Content-Type", a.contentType)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.body))
}

// policy is the Content-Security-Policy of every answer. Trusted Types are required and no policy may be made,
// so that no string can become markup or script, whatever a name or a tag holds.
func policy(importMap []byte) string {
	sum := sha256.Sum256(importMap)
	return strings.Join([]string{
		"default-src 'none'",
		"script-src 'self' 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'",
		"style-src 'self'",
		"img-src 'self'",
		"connect-src 'self'",
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
		"require-trusted-types-for 'script'",
		"trusted-types 'none'",
	}, "; ")
}

func (s *Site) importMap() []byte {
	imports := map[string]string{}
	for name, file := range bareImports {
		imports[name] = "." + s.base + file
	}
	text, _ := json.Marshal(map[string]any{"imports": imports}) // strings only: cannot fail
	return text
}

// document fills in a page: where its assets stand, the import map, and a preload for each module that its
// entry needs, so that they are fetched at once and not one import after the other.
func (s *Site) document(file, entry string, importMap []byte, assets map[string][]byte) ([]byte, error) {
	text, err := files.ReadFile(file)
	if err != nil {
		return nil, err
	}
	modules, err := modulesOf(entry, assets)
	if err != nil {
		return nil, err
	}
	var preload strings.Builder
	for _, m := range modules {
		fmt.Fprintf(&preload, "<link rel=\"modulepreload\" href=\".%s%s\">\n", s.base, m)
	}
	r := strings.NewReplacer("{{base}}", "."+s.base, "{{importmap}}", string(importMap), "{{preload}}\n", preload.String())
	return []byte(r.Replace(string(text))), nil
}

// modulesOf lists a module and all that it imports, each once, in the order in which they are met.
func modulesOf(entry string, assets map[string][]byte) ([]string, error) {
	seen := map[string]bool{entry: true}
	list := []string{entry}
	for i := 0; i < len(list); i++ {
		for _, name := range importsOf(assets[list[i]]) {
			file, ok := bareImports[name]
			if !ok {
				file = path.Join(path.Dir(list[i]), name)
			}
			if _, ok := assets[file]; !ok {
				return nil, fmt.Errorf("web: %s imports %q, which is not there", list[i], name)
			}
			if !seen[file] {
				seen[file] = true
				list = append(list, file)
			}
		}
	}
	return list, nil
}

// importStatement is `import … from "name"` as our modules write it, at the start of a line, and as the vendored
// ones do, with nothing in between.
var importStatement = regexp.MustCompile(`(?m)(?:^|;)import\s*(?:[\w*{][^;'"]*from\s*)?["']([^"']+)["']`)

// importsOf finds the names in a module's import statements.
func importsOf(module []byte) []string {
	var names []string
	for _, m := range importStatement.FindAllSubmatch(module, -1) {
		names = append(names, string(m[1]))
	}
	return names
}

func readAssets(files fs.FS) (map[string][]byte, error) {
	assets := map[string][]byte{}
	for _, dir := range []string{"static", "vendor"} {
		err := fs.WalkDir(files, dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || contentType(name) == "" {
				return err
			}
			assets[name], err = fs.ReadFile(files, name)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return assets, nil
}

// contentType goes by our own list: the system's table differs from machine to machine, and with nosniff a
// module of another type does not run. Files of other kinds are not served.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	return ""
}

// hashOf names the assets by their contents: 80 bits of SHA-256 over each name and file, in order.
func hashOf(assets map[string][]byte) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(assets)) {
		fmt.Fprintf(h, "%s %d\n", name, len(assets[name]))
		h.Write(assets[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:10])
}
