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
	if err := mergeInto(filepath.Join(dir, "Preferences"),
		slices.Concat(runPreferences(s.WebRTC), blockPreferences(s), languages)); err != nil {
		return err
	}
	return errors.Join(written(), mergeInto(filepath.Join(s.UserDataDir, "Local State"), localState(s.Resolver)))
}

// removeSettings removes the preferences that only a run needs, so that the profile works unrestricted in a person's own browser.
func removeSettings(s *Spec) error {
	file := filepath.Join(s.UserDataDir, profileFolder, "Preferences")
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return mergeInto(file, noBlockPreferences())
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
	return []preference{
		{urlBlocklist, []any{allFiles, "chrome://*", "chrome-untrusted://*", "chrome-search://*", "devtools://*"}, false},
		// The first is part of Chrome's own window, which exists invisibly: its renderer would count as a page otherwise. The second is for
		// selectLanguages.
		{urlAllowlist, []any{"chrome://top-chrome", settingsURL}, false},
		// IncognitoModePrefs, kDisabled: downloads of such a window ignore DevTools. Clients' contexts are not affected.
		{incognitoMode, 1, false},
	}
}

// noBlockPreferences removes blockPreferences.
func noBlockPreferences() []preference {
	return []preference{{path: urlBlocklist}, {path: urlAllowlist}, {path: incognitoMode}}
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
