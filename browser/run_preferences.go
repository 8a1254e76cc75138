package browser

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"
)

// writeSettings puts what the run needs into the profile before Chrome reads it. What else is there stays.
func writeSettings(s *Spec) error {
	dir := filepath.Join(s.UserDataDir, profileFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the profile's folder: %w", err)
	}
	languages, written, err := languageSettings(s.UserDataDir, s.Identity.Languages)
	if err != nil {
		return err
	}
	if err := mergeInto(filepath.Join(dir, "Preferences"), slices.Concat(runPreferences(s.WebRTC), blockPreferences(s), languages)); err != nil {
		return err
	}
	return errors.Join(written(), mergeInto(filepath.Join(s.UserDataDir, "Local State"), localState(s.Resolver)))
}

// removeRunSettings takes out of the profile what only a run needs: who opens the folder with a browser of theirs has all pages of it.
func removeRunSettings(s *Spec) error {
	file := filepath.Join(s.UserDataDir, profileFolder, "Preferences")
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return mergeInto(file, noBlockPreferences())
}

// runPreferences are the settings that have no flag, or that a flag alone does not cover.
func runPreferences(webrtc WebRTC) []preference {
	policy := webrtcPolicy
	if webrtc == WebRTCDefault {
		policy = "default"
	}
	return []preference{
		{"webrtc.ip_handling_policy", policy, false},
		{"alternate_error_pages.enabled", false, false}, // no probes of name servers when a page fails
		{"spellcheck.dictionaries", []any{}, true},      // no download of a dictionary
	}
}

// localState are the settings that Chrome keeps for all of its profiles together. A browser that asks a name server over HTTPS does so beside its
// proxy: measured, with all flags on.
func localState(resolver string) []preference {
	if resolver != "" {
		return []preference{{"dns_over_https.mode", "secure", false}, {"dns_over_https.templates", resolver, false}}
	}
	return []preference{{"dns_over_https.mode", "off", false}}
}

// blockPreferences keep Chrome itself from opening what is closed, whoever asks for it: scripts, extensions, drops, history, DevTools. It is the list by
// which administrators close addresses (components/policy/core/common/policy_pref_names.h, kUrlBlocklist), asked before a navigation begins. In a browser
// with windows a person may have its settings and open files with it, but none of the run's own: what clients hand over, and what pages keep, lies there.
// A page may drag such a file onto another, and Chrome would open it there as a file's page, whose scripts have files of the machine downloaded.
func blockPreferences(s *Spec) []preference {
	if !s.Headless {
		return []preference{{urlBlocklist, ownFolderFilters(s), false}, {path: urlAllowlist}, {path: incognitoMode}}
	}
	return []preference{
		{urlBlocklist, []any{allFiles, "chrome://*", "chrome-untrusted://*", "chrome-search://*", "devtools://*"}, false},
		// Of Chrome's window, which is there without being seen: a renderer that is refused these counts as a page. And ours: languages.go.
		{urlAllowlist, []any{"chrome://top-chrome", settingsURL}, false},
		{incognitoMode, 1, false}, // IncognitoModePrefs, kDisabled: DevTools has no say where downloads of its window go. Contexts of clients are others.
	}
}

// noBlockPreferences takes closedPreferences out again.
func noBlockPreferences() []preference {
	return []preference{{path: urlBlocklist}, {path: urlAllowlist}, {path: incognitoMode}}
}

const (
	allFiles      = "file://*"
	incognitoMode = "incognito.mode_availability"
)

// ownFolderFilters are the filters for the run's own folders, by each way that leads there. All files are meant where Chrome's spelling of a folder's address is
// not known for certain.
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
