package web

import (
	"net/http"
	"os"
	"strings"
)

// serveModule answers a module as it is written, for tests of what no page shows. The names of vendored modules become addresses, as the
// bundler resolves them.
func serveModule(w http.ResponseWriter, name string) {
	text, err := os.ReadFile(name)
	if err != nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	names := strings.NewReplacer("'preact/hooks'", "'/modules/vendor/hooks.mjs'", "'preact'", "'/modules/vendor/preact.mjs'",
		"'htm'", "'/modules/vendor/htm.mjs'", `"preact"`, `"/modules/vendor/preact.mjs"`)
	w.Header().Set("Content-Type", "text/javascript")
	names.WriteString(w, string(text)) //nolint:errcheck // the client may be gone
}
