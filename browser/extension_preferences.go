package browser

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// Loads a run's extensions. CDP loads them as unpacked ones (Extensions.loadUnpacked), and Chrome gives those access to files, unless its
// preferences deny it before (extensions/browser/unpacked_installer.cc, GetFlags). It forgets them at its end: they have the creation flag
// loadedByDevTools. Without that flag Chrome loads them itself at its next start, before any page. An extension then sees
// runtime.onStartup, and not runtime.onInstalled again.

const (
	// extensionsURL is a page that may ask chrome.developerPrivate: the list of texts of chrome://extensions, a document without scripts.
	extensionsURL = "chrome://extensions/strings.m.js"
	// developerMode must be on, or Chrome switches unpacked extensions off (disable_reason.h, DISABLE_UNSUPPORTED_DEVELOPER_EXTENSION).
	developerMode     = "extensions.ui.developer_mode"
	extensionSettings = "extensions.settings"

	unpacked          = 4           // extensions/common/mojom/manifest.mojom, ManifestLocation.kUnpacked
	allowFileAccess   = 1 << 2      // extensions/common/extension.h, ALLOW_FILE_ACCESS
	loadedByDevTools  = 1 << 15     // what loadUnpacked sets; measured with Chromium 156
	ordinaryFlags     = 1<<1 | 1<<5 // of unpacked ones: REQUIRE_MODERN_MANIFEST_VERSION, FOLLOW_SYMLINKS_ANYWHERE
	withoutFileAccess = "newAllowFileAccess"
)

// extensionPreferences returns the preferences that give the run's extensions no files, and keep others of ours from being loaded. Data of
// extensions are elsewhere, and stay.
func extensionPreferences(s *Spec) ([]preference, error) {
	if s.Offline { // it loads none, and those that the profile has stay
		return nil, nil
	}
	all, err := readPreferences(filepath.Join(s.UserDataDir, profileFolder, "Preferences"))
	if err != nil {
		return nil, err
	}
	had, _ := preference{path: extensionSettings}.get(all).(map[string]any)
	wanted := map[string]any{}
	for _, e := range s.Extensions {
		wanted[pathID(e.Path)] = denied()
		wanted[e.ID] = e.settings(had[e.ID])
	}
	var out []preference
	for id, entry := range had {
		if wanted[id] == nil && isOurs(entry) {
			out = append(out, preference{path: extensionSettings + "." + id})
		}
	}
	for id, entry := range wanted {
		out = append(out, preference{extensionSettings + "." + id, entry, false})
	}
	if len(s.Extensions) > 0 {
		out = append(out, preference{developerMode, true, false})
	}
	return out, nil
}

// denied is the entry of an extension that Chrome does not have yet.
func denied() map[string]any { return map[string]any{withoutFileAccess: false} }

// settings returns the entry of an extension for the next start. One that Chrome has from the same folder is loaded by Chrome. With flags
// that are not known here Chrome may forget it, and what its entry denies: such a one is loaded over CDP again.
func (e Extension) settings(had any) map[string]any {
	entry, _ := had.(map[string]any)
	location, _ := entry["location"].(json.Number)
	flags, _ := entry["creation_flags"].(json.Number)
	n, err := flags.Int64()
	n &^= allowFileAccess | loadedByDevTools
	if location.String() != fmt.Sprint(unpacked) || entry["path"] != e.Path || err != nil || n&^ordinaryFlags != 0 {
		return denied()
	}
	entry["creation_flags"] = json.Number(fmt.Sprint(n))
	entry["disable_reasons"] = []any{}
	entry[withoutFileAccess] = false
	return entry
}

// isOurs reports whether an entry is of a package that a run has loaded, or only denies files.
func isOurs(entry any) bool {
	e, _ := entry.(map[string]any)
	_, denies := e[withoutFileAccess]
	location, _ := e["location"].(json.Number)
	path, _ := e["path"].(string)
	return len(e) == 1 && denies || location.String() == fmt.Sprint(unpacked) && isPackage(path)
}

// isPackage reports whether a path is one of package extensions, or of a run's copies.
func isPackage(path string) bool {
	dir, name := filepath.Split(path)
	return filepath.Base(dir) == "extensions" && regexp.MustCompile("^([0-9a-f]{64}|[a-p]{32})$").MatchString(name)
}

// pathID is the id of an extension without a key (components/crx_file/id_util.cc, GenerateIdForPath). Chrome looks there for the access to
// files, even where there is a key. Windows has another encoding.
func pathID(path string) string {
	return strings.Map(func(digit rune) rune {
		if digit >= 'a' {
			return digit - 'a' + 'k'
		}
		return digit - '0' + 'a'
	}, fmt.Sprintf("%x", sha256.Sum256([]byte(path)))[:32])
}
