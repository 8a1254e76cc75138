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
