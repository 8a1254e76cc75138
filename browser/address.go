package browser

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// BlankPage is the page of a browser without a session. The New Tab Page would talk to a search engine.
const BlankPage = "about:blank"

// settingsURL is a page that may change Chrome's preferences (settingsPrivate, for all of chrome://settings:
// chrome/common/extensions/api/_api_features.json). It is the settings' list of texts, a document without scripts, which loads ten times
// faster than the settings themselves.
const settingsURL = "chrome://settings/strings.m.js"

// normal returns a URL as Chrome writes it, as far as comparisons need it.
func normal(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String()
}

// CheckURL accepts about:blank, and absolute http and https URLs with a host.
func CheckURL(address string) error {
	if address == BlankPage {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("only http, https and about:blank can be opened: %q", address)
	}
	return nil
}

// splitAddress splits an address as Chrome's parser does (WHATWG URL, 4.4). It ignores control characters and spaces around it, and tabs
// and newlines anywhere.
func splitAddress(address string) (scheme, rest string) {
	around := func(r rune) bool { return r <= ' ' }
	address = strings.TrimFunc(strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(address), around)
	scheme, rest, found := strings.Cut(address, ":")
	if !found {
		return "", address
	}
	return strings.ToLower(scheme), rest
}

// isFile reports whether an address is one of a file.
func isFile(address string) bool {
	scheme, rest := splitAddress(address)
	return scheme == "file" || scheme == "view-source" && isFile(rest)
}

// extensions are the extensions that a profile has installed, according to its preferences. Components of Chrome such as its PDF viewer do
// not count. A nil value has none.
type extensions struct {
	folder string // of the preferences

	mu    sync.Mutex
	stamp string          // of the files that ids was read from
	ids   map[string]bool // whether clients may open the pages of an extension that is installed
	own   map[string]bool // the run's own, which may not be in the files yet
}

// expect makes extensions known that the run loads. The preferences, which Chrome writes later, count once they name them.
func (x *extensions) expect(ids []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.own = map[string]bool{}
	for _, id := range ids {
		x.own[id] = true
	}
}

// has reports whether an extension is installed. It reads changed preferences again, since a person may install extensions while the
// browser runs.
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
			maps.Copy(x.ids, readInstalled(f))
		}
	}
	if mayOpen, known := x.ids[id]; known {
		return mayOpen
	}
	return x.own[id]
}

// readInstalled returns the extensions in a file of preferences, none if it cannot be read, and whether clients may open their pages.
// Locations are those of extensions/common/manifest.mojom (ManifestLocation); 5 and 10 are components of Chrome. Clients may not open pages
// of an extension that may read files of this machine: a client that drove one could read them unnoticed.
func readInstalled(file string) map[string]bool {
	var all struct {
		Extensions struct {
			Settings map[string]json.RawMessage `json:"settings"`
		} `json:"extensions"`
	}
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &all) != nil {
		return nil
	}
	ids := map[string]bool{}
	for id, entry := range all.Extensions.Settings {
		var e struct {
			Location int  `json:"location"`
			Files    bool `json:"newAllowFileAccess"`
		}
		if json.Unmarshal(entry, &e) == nil && slices.Contains([]int{1, 2, 3, 4, 6, 7, 8, 9}, e.Location) {
			ids[id] = !(e.Files && mayReadFiles(entry))
		}
	}
	return ids
}

// pagePermissions let an extension read a file's page without a match pattern.
var pagePermissions = [...]string{"debugger", "pageCapture", "tabCapture", "desktopCapture", "downloads"}

// mayReadFiles reports whether an extension's preferences contain a match pattern for files, or one of pagePermissions, in its manifest or
// its grants.
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

// extensionOf returns the id after "chrome-extension:", "" if it is not written plainly.
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

// mayOpen reports whether a client may open an address. Unknown schemes are refused. An empty address is a blank page.
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

// isBlocked reports whether a document at an address of Chrome's is hidden from clients. Addresses for other programs (mailto:) never
// become documents. They do not count, or a link to one would hide its page.
func (x *extensions) isBlocked(address string) bool {
	scheme, rest := splitAddress(address)
	switch scheme {
	case "blob", "view-source":
		return x.isBlocked(rest)
	case "chrome-extension":
		id := extensionOf(rest)
		return id != "invalid" && !x.has(id) // invalid: Chrome's error page for an extension's address
	case "chrome-error":
		return false
	case "file", "filesystem", "devtools", "externalfile", "content", "isolated-app", "edge", "brave", "opera", "vivaldi":
		return true
	}
	return strings.HasPrefix(scheme, "chrome")
}
