package browser

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ClearOptions says what of a profile's data is cleared.
type ClearOptions struct {
	Kinds   []string  `json:"kinds"`   // cache, cookies, history, storage, downloads, permissions
	Origins []string  `json:"origins"` // none: all
	Since   time.Time `json:"since"`   // zero: since ever
}

// ofOrigins are the kinds that belong to origins.
func ofOrigins() []string { return []string{"cache", "cookies", "storage", "permissions"} }

// browsingData returns the data types of chrome.browsingData for the kinds.
func (o ClearOptions) browsingData() map[string]bool {
	types := map[string][]string{"cache": {"cache", "cacheStorage"}, "cookies": {"cookies"}, "history": {"history"},
		"downloads": {"downloads"}, "storage": {"indexedDB", "localStorage", "serviceWorkers", "fileSystems", "webSQL"}}
	all := map[string]bool{}
	for _, kind := range o.Kinds {
		if len(o.Origins) > 0 && !slices.Contains(ofOrigins(), kind) {
			continue
		}
		for _, name := range types[kind] {
			all[name] = true
		}
	}
	return all
}

func clearerFolder(s *Spec) string { return filepath.Join(s.TempDir, "clear") }

// writeClearer writes the extension that clears data (developer.chrome.com, chrome.browsingData).
func writeClearer(s *Spec) error {
	if s.Clear == nil {
		return nil
	}
	dir := clearerFolder(s)
	err := os.MkdirAll(dir, 0o700)
	for name, text := range map[string]string{"page.html": "<!doctype html>",
		"manifest.json": `{"manifest_version":3,"name":"Warren","version":"1","permissions":["browsingData"]}`} {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)
		}
	}
	return err
}

// exceptions is the preference for what sites were allowed and refused (components/content_settings/core/browser).
const exceptions = "profile.content_settings.exceptions"

// permissionTypes are its parts that a person has decided about. Others are what Chrome has noticed.
func permissionTypes() []string {
	return []string{"ar", "automatic_downloads", "autoplay", "background_sync", "bluetooth_guard", "bluetooth_scanning",
		"camera_pan_tilt_zoom", "captured_surface_control", "clipboard", "file_system_read_guard", "file_system_write_guard", "geolocation",
		"geolocation_with_options", "hid_guard", "idle_detection", "images", "javascript", "keyboard_lock", "local_fonts",
		"local_network_access", "media_stream_camera", "media_stream_mic", "midi_sysex", "notifications", "payment_handler", "plugins",
		"pointer_lock", "popups", "protected_media_identifier", "sensors", "serial_guard", "sound", "storage_access", "subresource_filter",
		"top_level_storage_access", "usb_guard", "vr", "window_placement", "hid_chooser_data", "serial_chooser_data", "usb_chooser_data",
		"bluetooth_chooser_data"}
}

// clearedPermissions returns preferences without the permissions that are to be cleared.
func clearedPermissions(s *Spec) ([]preference, error) {
	if s.Clear == nil || !slices.Contains(s.Clear.Kinds, "permissions") {
		return nil, nil
	}
	all, err := readPreferences(filepath.Join(s.UserDataDir, profileFolder, "Preferences"))
	if err != nil {
		return nil, err
	}
	var out []preference
	for _, name := range permissionTypes() {
		had, _ := preference{path: exceptions + "." + name}.get(all).(map[string]any)
		kept := map[string]any{}
		for pattern, setting := range had {
			if !s.Clear.covers(pattern, setting) {
				kept[pattern] = setting
			}
		}
		if len(kept) < len(had) {
			out = append(out, preference{exceptions + "." + name, kept, false})
		}
	}
	return out, nil
}

// windowsEpoch is how many microseconds Chrome's times begin before 1970: in 1601.
const windowsEpoch = 11644473600 * 1e6

// covers reports whether a site's setting is to be cleared. A pattern is an origin and one of the site that embeds it, by a comma.
func (o ClearOptions) covers(pattern string, setting any) bool {
	entry, _ := setting.(map[string]any)
	text, _ := entry["last_modified"].(string)
	if at, err := strconv.ParseInt(text, 10, 64); err == nil && !o.Since.IsZero() && at-windowsEpoch < o.Since.UnixMicro() {
		return false
	}
	site, _, _ := strings.Cut(pattern, ",")
	return len(o.Origins) == 0 || slices.ContainsFunc(o.Origins, func(origin string) bool {
		u, err := url.Parse(origin)
		if err != nil {
			return false
		}
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		return site == origin || site == u.Scheme+"://"+u.Hostname()+":"+port
	})
}
