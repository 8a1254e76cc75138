package browser

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"
)

// preference is one of Chrome's preferences (chrome/common/pref_names.h).
type preference struct {
	path    string // member names, joined by dots
	value   any    // nil: removes the preference
	ifUnset bool   // sets it only if neither Chrome nor the user has
}

// mergeInto sets preferences in a file. A file that is not JSON is renamed to NAME.bad, as Chrome does.
func mergeInto(file string, preferences []preference) error {
	all, err := readPreferences(file)
	if err != nil {
		return err
	}
	changed := false
	for _, p := range preferences {
		changed = p.merge(all) || changed
	}
	if !changed {
		return nil
	}
	text, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("encode the preferences: %w", err)
	}
	return writeFile(file, text)
}

func readPreferences(file string) (map[string]any, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]any{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the preferences: %w", err)
	}
	var all map[string]any
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber() // Chrome stores 64-bit numbers
	if in.Decode(&all) != nil || all == nil {
		if err := os.Rename(file, file+".bad"); err != nil {
			return nil, fmt.Errorf("set the damaged preferences aside: %w", err)
		}
		return map[string]any{}, nil
	}
	return all, nil
}

// merge sets or removes p in all, and reports whether that has changed anything.
func (p preference) merge(all map[string]any) bool {
	if p.value == nil && !p.exists(all) {
		return false
	}
	all, name := p.locate(all)
	old, there := all[name]
	if there && (p.ifUnset || reflect.DeepEqual(old, p.value)) || !there && p.value == nil {
		return false
	}
	if all[name] = p.value; p.value == nil {
		delete(all, name)
	}
	return true
}

// exists reports whether all has a value of p.
func (p preference) exists(all map[string]any) bool {
	names := strings.Split(p.path, ".")
	for _, name := range names[:len(names)-1] {
		all, _ = all[name].(map[string]any)
	}
	_, there := all[names[len(names)-1]]
	return there
}

// get returns the value of p in all, nil for none.
func (p preference) get(all map[string]any) any {
	all, name := p.locate(all)
	return all[name]
}

// locate returns the object that contains p, which it creates if necessary, and the name of the member.
func (p preference) locate(all map[string]any) (map[string]any, string) {
	names := strings.Split(p.path, ".")
	last := len(names) - 1
	for _, name := range names[:last] {
		below, ok := all[name].(map[string]any)
		if !ok {
			below = map[string]any{}
			all[name] = below
		}
		all = below
	}
	return all, names[last]
}

// writeFile replaces a file atomically.
func writeFile(file string, text []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*.tmp")
	if err != nil {
		return fmt.Errorf("write the preferences: %w", err)
	}
	defer os.Remove(tmp.Name()) // fails after the rename
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("write the preferences: %w", err)
	}
	return os.Rename(tmp.Name(), file)
}

// writeSettings writes the run's preferences into the profile before Chrome reads them. Other preferences stay.
func writeSettings(s *Spec) error {
	dir := filepath.Join(s.UserDataDir, profileFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the profile's folder: %w", err)
	}
	languages, written, err := languageSettings(s.UserDataDir, s.Identity.Languages)
	if err != nil {
		return err
	}
	prediction, kept, err := predictionSettings(s.UserDataDir, s.Offline)
	if err != nil {
		return err
	}
	extensions, err := extensionPreferences(s)
	if err != nil {
		return err
	}
	permissions, err := clearedPermissions(s)
	if err != nil {
		return err
	}
	if err := mergeInto(filepath.Join(dir, "Preferences"),
		slices.Concat(runPreferences(s.WebRTC), blockPreferences(s), languages, prediction, extensions, permissions)); err != nil {
		return err
	}
	return errors.Join(written(), kept(), mergeInto(filepath.Join(s.UserDataDir, "Local State"), localState(s.Resolver)))
}

// removeSettings removes blockPreferences, which only a run needs, so that the profile works unrestricted in a person's own browser.
func removeSettings(s *Spec) error {
	file := filepath.Join(s.UserDataDir, profileFolder, "Preferences")
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	remove := []preference{{path: urlBlocklist}, {path: urlAllowlist}, {path: incognitoMode}}
	if len(s.Extensions) > 0 {
		remove = append(remove, preference{path: developerMode})
	}
	return mergeInto(file, remove)
}

// runPreferences are preferences that have no flag, or that a flag does not cover completely.
func runPreferences(webrtc WebRTC) []preference {
	policy := webrtcPolicy
	if webrtc == WebRTCDefault {
		policy = "default"
	}
	return []preference{
		{"webrtc.ip_handling_policy", policy, false},
		{"alternate_error_pages.enabled", false, false}, // no DNS probes when a page fails
		{"spellcheck.dictionaries", []any{}, true},      // no download of a dictionary
	}
}

// localState are the preferences that Chrome keeps for all profiles of a folder together. With DNS over HTTPS Chrome asks the server beside
// its proxy, in spite of all flags (measured).
func localState(resolver string) []preference {
	if resolver != "" {
		return []preference{{"dns_over_https.mode", "secure", false}, {"dns_over_https.templates", resolver, false}}
	}
	return []preference{{"dns_over_https.mode", "off", false}}
}

// blockPreferences keep Chrome from opening blocked addresses, whoever asks: scripts, extensions, drops, history, DevTools. They are the
// administrators' blocklist, which Chrome checks before a navigation (components/policy/core/common/policy_pref_names.h, kUrlBlocklist).
//
// In a browser with windows a person may open settings and files, but not the run's own files, which are those of clients and pages. A page
// may drag such a file onto another page. Chrome would open it there as a file's page, whose scripts can download files of this machine.
func blockPreferences(s *Spec) []preference {
	if !s.Headless {
		return []preference{{urlBlocklist, ownFolderFilters(s), false}, {path: urlAllowlist}, {path: incognitoMode}}
	}
	allowed := []any{"chrome://top-chrome", settingsURL}
	if len(s.Extensions) > 0 {
		allowed = append(allowed, extensionsURL)
	}
	return []preference{
		{urlBlocklist, []any{allFiles, "chrome://*", "chrome-untrusted://*", "chrome-search://*", "devtools://*"}, false},
		// The first is part of Chrome's own window, which exists invisibly: its renderer would count as a page otherwise. The second is for
		// selectLanguages, the third for loadExtensions.
		{urlAllowlist, allowed, false},
		// IncognitoModePrefs, kDisabled: downloads of such a window ignore DevTools. Clients' contexts are not affected.
		{incognitoMode, 1, false},
	}
}

const (
	allFiles      = "file://*"
	incognitoMode = "incognito.mode_availability"
)

// ownFolderFilters are URL filters for every spelling of the run's own folders. They block all files if it is uncertain how Chrome spells a
// folder's URL.
func ownFolderFilters(s *Spec) (filters []any) {
	for _, dir := range []string{s.UserDataDir, s.TempDir, s.FilesDir, s.HomeDir} {
		if dir == "" {
			continue
		}
		for _, spelling := range pathSpellings(dir) {
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

// fileFilter returns the URL filter for the contents of a folder. Chrome parses a filter's path like that of a file URL, and compares it
// with the escaped path of the URL to open (components/url_matcher/url_util.cc). So the path is escaped twice. certain is false for
// characters that versions of Chrome escape differently, and on Windows, where it is untested.
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

// The browser gets its languages through Chrome's own preference, and the profile's own choice is kept meanwhile. The flag --accept-lang
// would override the preference, and could not change while the browser runs.

// selectedLanguages is the preference for languages. Chrome derives acceptLanguages from it (components/language/core/browser:
// pref_names.h, LanguagePrefs::UpdateAcceptLanguagesPref). Without the first it uses the second, and without both the language of its
// interface.
const (
	selectedLanguages = "intl.selected_languages"
	acceptLanguages   = "intl.accept_languages"
)

// ownLanguages is the profile's own value of selectedLanguages; "" is none. It lies in a file beside the preferences as long as these may
// contain the run's languages. Chrome itself rewrites the preferences while it runs.
type ownLanguages struct {
	Selected string `json:"selected"`
}

func ownLanguagesFile(userDataDir string) string {
	return filepath.Join(userDataDir, profileFolder, "Own Languages")
}

// saveOwnLanguages saves the profile's own value, unless one is saved already.
func saveOwnLanguages(userDataDir, selected string) error {
	file := ownLanguagesFile(userDataDir)
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := json.Marshal(ownLanguages{selected})
	if err != nil {
		return fmt.Errorf("encode the profile's own languages: %w", err)
	}
	return writeFile(file, text)
}

// languageSettings returns the preferences for a run's languages; for none, they restore the profile's own. done must be called after they
// are written. A crash before that keeps the saved value.
func languageSettings(userDataDir string, told []string) (all []preference, done func() error, err error) {
	file := ownLanguagesFile(userDataDir)
	nothing := func() error { return nil }
	if len(told) > 0 {
		now, err := readPreferences(filepath.Join(userDataDir, profileFolder, "Preferences"))
		if err != nil {
			return nil, nil, err
		}
		selected, _ := preference{path: selectedLanguages}.get(now).(string)
		return []preference{{selectedLanguages, strings.Join(told, ","), false}}, nothing, saveOwnLanguages(userDataDir, selected)
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nothing, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the profile's own languages: %w", err)
	}
	var own ownLanguages
	if json.Unmarshal(text, &own) != nil || own.Selected == "" { // an unreadable file: the machine's languages then
		all = []preference{{selectedLanguages, nil, false}, {acceptLanguages, nil, false}}
	} else {
		all = []preference{{selectedLanguages, own.Selected, false}}
	}
	return all, func() error { return os.Remove(file) }, nil
}
