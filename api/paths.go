package api

import (
	"net/http"
	"path"
	"strings"
)

// Holds the API's prefix and the checks of request paths.

// Prefix is the path below which all operations are.
const Prefix = "/api/v1"

// ProfilePath is the path parameter of operations on one profile.
type ProfilePath struct {
	ID string `path:"id" doc:"The profile's id."`
}

// isClean reports whether a path is in canonical form. CDP paths may end in a slash: Chrome's own addresses do, and clients send
// them.
func isClean(p string) bool {
	clean := path.Clean(p)
	return p == clean || strings.Contains(p, "/cdp/") && p == clean+"/"
}

func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }
