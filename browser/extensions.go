package browser

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// extensions are those that a profile has installed, as its preferences say. Parts of Chrome that are extensions, as the viewer of PDF, are none of them.
// A nil one has none.
type extensions struct {
	folder string // of the preferences

	mu    sync.Mutex
	stamp string // of the files that ids is from
	ids   map[string]bool
}

// has reports whether an extension is installed. It reads the preferences anew when they have changed: a person may install some while the browser runs.
func (x *extensions) has(id string) bool {
	if x == nil || len(id) != 32 {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	files := []string{filepath.Join(x.folder, "Preferences"), filepath.Join(x.folder, "Secure Preferences")}
	var stamp string
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			stamp += fmt.Sprintln(info.ModTime().UnixNano(), info.Size())
		}
	}
	if stamp != x.stamp || x.ids == nil {
		x.stamp, x.ids = stamp, map[string]bool{}
		for _, f := range files {
			for _, id := range readInstalled(f) {
				x.ids[id] = true
			}
		}
	}
	return x.ids[id]
}

// readInstalled reads the extensions of one file of preferences. Locations are of extensions/common/manifest.mojom (ManifestLocation): 5 and 10 are
// components of Chrome. One that may read files of the machine is left out: who drove it would read them too, and no command shows it. What cannot be read
// has none.
func readInstalled(file string) (ids []string) {
	var all struct {
		Extensions struct {
			Settings map[string]json.RawMessage `json:"settings"`
		} `json:"extensions"`
	}
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &all) != nil {
		return nil
	}
	for id, entry := range all.Extensions.Settings {
		var e struct {
			Location int  `json:"location"`
			Files    bool `json:"newAllowFileAccess"`
		}
		if json.Unmarshal(entry, &e) == nil && slices.Contains([]int{1, 2, 3, 4, 6, 7, 8, 9}, e.Location) && !(e.Files && mayReadFiles(entry)) {
			ids = append(ids, id)
		}
	}
	return ids
}

// pagePermissions are the permissions by which an extension that may read files gets at a page of one without a pattern.
var pagePermissions = [...]string{"debugger", "pageCapture", "tabCapture", "desktopCapture", "downloads"}

// mayReadFiles reports whether some text in an extension's preferences is a pattern that files match (Chrome's match patterns), or a permission that needs
// none, be it of its manifest or of what it was granted.
func mayReadFiles(entry json.RawMessage) bool {
	var value any
	if json.Unmarshal(entry, &value) != nil {
		return true
	}
	var within func(any) bool
	within = func(value any) bool {
		switch v := value.(type) {
		case string:
			return v == "<all_urls>" || strings.HasPrefix(v, "file:") || slices.Contains(pagePermissions[:], v)
		case []any:
			return slices.ContainsFunc(v, within)
		case map[string]any:
			return slices.ContainsFunc(slices.Collect(maps.Values(v)), within)
		}
		return false
	}
	return within(value)
}

// extensionOf is the id in what follows "chrome-extension:", "" for what is not written plainly.
func extensionOf(rest string) string {
	rest, plain := strings.CutPrefix(rest, "//")
	if end := strings.IndexAny(rest, `/?#`); end >= 0 {
		rest = rest[:end]
	}
	if !plain || strings.ContainsFunc(rest, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return ""
	}
	return rest
}

// mayOpen reports whether a client may have an address opened: what is not known is refused. An empty one is a blank page.
func (x *extensions) mayOpen(address string) bool {
	scheme, rest := splitAddress(address)
	switch scheme {
	case "http", "https", "ws", "wss", "data", "javascript":
		return true
	case "blob":
		return strings.HasPrefix(rest, "null/") || x.mayOpen(rest)
	case "chrome-extension":
		return x.has(extensionOf(rest))
	case "view-source":
		return x.mayOpen(rest)
	case "about":
		rest, _, _ = strings.Cut(strings.ToLower(rest), "#")
		rest, _, _ = strings.Cut(rest, "?")
		return rest == "blank" || rest == "srcdoc"
	}
	return scheme == "" && rest == ""
}

// isBlocked reports whether a document of Chrome's, by the address that Chrome says, is closed to clients. Addresses that other programs open (mailto:)
// come to no document: they are not closed, or a link to one would cost clients the page.
func (x *extensions) isBlocked(address string) bool {
	scheme, rest := splitAddress(address)
	switch scheme {
	case "blob", "view-source":
		return x.isBlocked(rest)
	case "chrome-extension":
		id := extensionOf(rest)
		return id != "invalid" && !x.has(id) // invalid: what Chrome makes of a page's try to open an extension's, an error
	case "chrome-error":
		return false
	case "file", "filesystem", "devtools", "externalfile", "content", "isolated-app", "edge", "brave", "opera", "vivaldi":
		return true
	}
	return strings.HasPrefix(scheme, "chrome")
}
