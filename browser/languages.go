package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// This file keeps the profile's own choice of languages while it is told others. The browser is told by Chrome's own preference: a flag
// (--accept-lang) would win over it, and could not be changed while the browser runs.

// selectedLanguages is the preference that the languages come from, acceptLanguages the one that Chrome makes of it (components/language/core/browser:
// pref_names.h, LanguagePrefs::UpdateAcceptLanguagesPref). Where the first is not there Chrome takes it from the second, and that from the language of
// its interface.
const (
	selectedLanguages = "intl.selected_languages"
	acceptLanguages   = "intl.accept_languages"
)

// ownLanguages is what the preference was before we wrote it; "" is nothing. It is in a file beside the preferences, which is there as long as they may
// hold ours: Chrome has the preferences themselves while it runs.
type ownLanguages struct {
	Selected string `json:"selected"`
}

func ownLanguagesFile(userDataDir string) string {
	return filepath.Join(userDataDir, profileFolder, "Own Languages")
}

// saveOwnLanguages notes what the preference was, unless that is noted already.
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

// languageSettings are the preferences for the languages that a run is told of; without any, the profile has its own again. done comes when they are
// written: a crash before that leaves what was noted.
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
	if json.Unmarshal(text, &own) != nil || own.Selected == "" { // one that cannot be read tells nothing: the machine's then
		all = []preference{{selectedLanguages, nil, false}, {acceptLanguages, nil, false}}
	} else {
		all = []preference{{selectedLanguages, own.Selected, false}}
	}
	return all, func() error { return os.Remove(file) }, nil
}
