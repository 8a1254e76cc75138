package browser

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// This file says which addresses are closed to DevTools clients: files, pages of Chrome's own, and pages of extensions that the profile has not installed.
// closed_targets.go keeps clients off targets that show such a one.

// closedPreferences keep Chrome itself from opening what is closed, whoever asks for it: scripts, extensions, drops, history, DevTools. It is the list by
// which administrators close addresses (components/policy/core/common/policy_pref_names.h, kUrlBlocklist), asked before a navigation begins. In a browser
// with windows a person may have its settings and open files with it, but none of the run's own: what clients hand over, and what pages keep, lies there.
// A page may drag such a file onto another, and Chrome would open it there as a file's page, whose scripts have files of the machine downloaded.
func closedPreferences(s *Spec) []preference {
	if !s.Headless {
		return []preference{{urlBlocklist, ownAddresses(s), false}, {path: urlAllowlist}, {path: incognitoMode}}
	}
	return []preference{
		{urlBlocklist, []any{allFiles, "chrome://*", "chrome-untrusted://*", "chrome-search://*", "devtools://*"}, false},
		// Of Chrome's window, which is there without being seen: a renderer that is refused these counts as a page. And ours: languages.go.
		{urlAllowlist, []any{"chrome://top-chrome", settingsPage}, false},
		{incognitoMode, 1, false}, // IncognitoModePrefs, kDisabled: DevTools has no say where downloads of its window go. Contexts of clients are others.
	}
}

// noClosedPreferences takes closedPreferences out again.
func noClosedPreferences() []preference {
	return []preference{{path: urlBlocklist}, {path: urlAllowlist}, {path: incognitoMode}}
}

const (
	allFiles      = "file://*"
	incognitoMode = "incognito.mode_availability"
)

// ownAddresses are the filters for the run's own folders, by each way that leads there. All files are meant where Chrome's spelling of a folder's address is
// not known for certain.
func ownAddresses(s *Spec) (filters []any) {
	for _, dir := range []string{s.UserDataDir, s.TempDir, s.FilesDir, s.HomeDir} {
		if dir == "" {
			continue
		}
		for _, spelling := range spellings(dir) {
			filter, certain := fileFilter(spelling)
			if !certain {
				return []any{allFiles}
			}
			if !slices.Contains(filters, any(filter)) {
				filters = append(filters, filter)
			}
		}
	}
	return filters
}

// spellings are a folder's path as it was given, and as it is without links.
func spellings(dir string) []string {
	all := []string{filepath.Clean(dir)}
	if real, known := (&guard{}).real(dir); known && real != all[0] {
		all = append(all, real)
	}
	return all
}

// fileFilter is the filter for what lies in a folder. Chrome takes the path of a filter apart as a file's address, and compares its start with the escaped
// path of the address that is to be opened (components/url_matcher/url_util.cc): so it is escaped twice. certain is false for characters that not all
// versions of Chrome escape alike, and on Windows, where it was not tried.
func fileFilter(dir string) (filter string, certain bool) {
	path := "/" + strings.TrimPrefix(filepath.ToSlash(dir), "/") + "/"
	for _, c := range path {
		if c < 0x80 && !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._~+,=@:!()&$* #?%", c) {
			return "", false
		}
	}
	escaped := (&url.URL{Path: path}).EscapedPath()
	return "file://" + (&url.URL{Path: escaped}).EscapedPath(), utf8.ValidString(dir) && runtime.GOOS != "windows"
}

const (
	urlBlocklist = "policy.url_blocklist"
	urlAllowlist = "policy.url_allowlist"
)

const (
	notOpened    = "Cannot navigate to invalid URL: DevTools clients open http, https, data, blob, javascript and about:blank addresses here, pages of extensions that the profile has installed, and no others"
	notExtended  = "Not allowed: DevTools clients cannot install, remove or work extensions here"
	notInstalled = "Not allowed: DevTools clients cannot install, start or change web apps here: they become programs of the machine's user, which run beside the profile's proxy"
	notDialed    = "Not allowed: Chrome would connect to another place, or listen, beside the profile's proxy"
	notWrapped   = "Not allowed: this command is not taken within Target.sendMessageToTarget here: attach with flatten"
	notElsewhere = "Not allowed: every browser context goes through the profile's own proxy here: leave out proxyServer and proxyBypassList"
)

// refusal says why a command is refused for the address in it, or for the targets that it gets to, "" when it is not. wrapped is a command within another,
// whose answers and events are within others too, where nobody looks.
func (x *extensions) refusal(method string, params []byte, wrapped bool) string {
	domain, _, _ := strings.Cut(method, ".")
	switch {
	case domain == "Extensions":
		return notExtended
	case domain == "PWA":
		return notInstalled
	case method == "Target.setRemoteLocations" || domain == "Tethering" || domain == "Cast":
		return notDialed
	case wrapped && (domain == "Target" || method == "Page.getNavigationHistory"):
		return notWrapped
	}
	var addresses []string
	switch method {
	case "Page.navigate", "Target.createTarget", "Network.loadNetworkResource", "Fetch.continueRequest":
		addresses = texts(members(params)["url"])
	case "Target.createBrowserContext": // it would have a way to the network of its own
		all := members(params)
		if slices.ContainsFunc(append(all["proxyServer"], all["proxyBypassList"]...), func(v json.RawMessage) bool { return string(v) != "null" }) {
			return notElsewhere
		}
	}
	return x.mayOpen(addresses)
}

func (x *extensions) mayOpen(addresses []string) string {
	if slices.ContainsFunc(addresses, func(a string) bool { return !x.opens(a) }) {
		return notOpened
	}
	return ""
}

// opens reports whether a client may have an address opened: what is not known is refused. An empty one is a blank page.
func (x *extensions) opens(address string) bool {
	scheme, rest := splitAddress(address)
	switch scheme {
	case "http", "https", "ws", "wss", "data", "javascript":
		return true
	case "blob":
		return strings.HasPrefix(rest, "null/") || x.opens(rest)
	case "chrome-extension":
		return x.has(extensionOf(rest))
	case "view-source":
		return x.opens(rest)
	case "about":
		rest, _, _ = strings.Cut(strings.ToLower(rest), "#")
		rest, _, _ = strings.Cut(rest, "?")
		return rest == "blank" || rest == "srcdoc"
	}
	return scheme == "" && rest == ""
}

// isClosed reports whether a document of Chrome's, by the address that Chrome says, is closed to clients. Addresses that other programs open (mailto:)
// come to no document: they are not closed, or a link to one would cost clients the page.
func (x *extensions) isClosed(address string) bool {
	scheme, rest := splitAddress(address)
	switch scheme {
	case "blob", "view-source":
		return x.isClosed(rest)
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
			for _, id := range installedIn(f) {
				x.ids[id] = true
			}
		}
	}
	return x.ids[id]
}

// installedIn reads the extensions of one file of preferences. Locations are of extensions/common/manifest.mojom (ManifestLocation): 5 and 10 are
// components of Chrome. One that may read files of the machine is left out: who drove it would read them too, and no command shows it. What cannot be read
// has none.
func installedIn(file string) (ids []string) {
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
		if json.Unmarshal(entry, &e) == nil && slices.Contains([]int{1, 2, 3, 4, 6, 7, 8, 9}, e.Location) && !(e.Files && namesFiles(entry)) {
			ids = append(ids, id)
		}
	}
	return ids
}

// readsPages are the permissions by which an extension that may read files gets at a page of one without a pattern.
var readsPages = [...]string{"debugger", "pageCapture", "tabCapture", "desktopCapture", "downloads"}

// namesFiles reports whether some text in an extension's preferences is a pattern that files match (Chrome's match patterns), or a permission that needs
// none, be it of its manifest or of what it was granted.
func namesFiles(entry json.RawMessage) bool {
	var value any
	if json.Unmarshal(entry, &value) != nil {
		return true
	}
	var within func(any) bool
	within = func(value any) bool {
		switch v := value.(type) {
		case string:
			return v == "<all_urls>" || strings.HasPrefix(v, "file:") || slices.Contains(readsPages[:], v)
		case []any:
			return slices.ContainsFunc(v, within)
		case map[string]any:
			return slices.ContainsFunc(slices.Collect(maps.Values(v)), within)
		}
		return false
	}
	return within(value)
}
