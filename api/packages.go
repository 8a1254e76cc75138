package api

import (
	"encoding/hex"
	"net/http"
	"strings"

	"warren/nodes"
)

// Gives other servers of the database the files of packages of extensions.

// isPackage reports whether another server asks for the files of a package. Nobody else can.
func isPackage(r *http.Request) bool {
	return requestOf(r.Context()).peer != "" && r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, nodes.PackagesPath)
}

// servePackage answers with the files of a package, as extensions.Folder.Pack writes them. An answer that cannot be written to its end
// breaks off.
func (s *API) servePackage(w http.ResponseWriter, r *http.Request) error {
	sum := strings.TrimPrefix(r.URL.Path, nodes.PackagesPath)
	if b, err := hex.DecodeString(sum); err != nil || len(b) != 32 || hex.EncodeToString(b) != sum || !s.runs.Packages().Has(sum) {
		return nothingHere()
	}
	w.Header().Set("Content-Type", "application/zip")
	if err := s.runs.Packages().Pack(w, sum); err != nil {
		s.log.Warn("a package of an extension was not given to another server", "sha256", sum, "cause", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}
