package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
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

// keepOwnLanguages notes what the preference was, unless that is noted already.
func keepOwnLanguages(userDataDir, selected string) error {
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
		selected, _ := preference{path: selectedLanguages}.in(now).(string)
		return []preference{{selectedLanguages, strings.Join(told, ","), false}}, nothing, keepOwnLanguages(userDataDir, selected)
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

const (
	// settingsPage may change Chrome's preferences (chrome/common/extensions/api/_api_features.json, settingsPrivate, which is for all of
	// chrome://settings). It is the list of texts of the settings: a document without scripts, there in a tenth of the time of the settings themselves.
	settingsPage = "chrome://settings/strings.m.js"
	// settingsTime is how long the change of a preference may take: a tenth of a second, and on a busy machine many times as long. Nobody asks for
	// it again before the profile's next change.
	settingsTime = 9 * time.Second
)

// selectLanguages has the running browser take other languages: all of its pages and workers have them at once, and what is sent from now on.
func (b *Browser) selectLanguages(ctx context.Context, languages []string) error {
	ctx, end := b.untilStop(ctx)
	defer end()
	ctx, cancel := context.WithTimeout(ctx, settingsTime)
	defer cancel()
	session, leave, err := b.openPrivate(ctx)
	defer leave()
	if err != nil {
		return err
	}
	var arrived struct {
		ErrorText string `json:"errorText"`
	}
	err = b.mux.call(ctx, session, "Page.navigate", map[string]string{"url": settingsPage}, &arrived)
	if err == nil && arrived.ErrorText != "" {
		err = errors.New(arrived.ErrorText)
	}
	if err != nil {
		return fmt.Errorf("open the browser's settings: %w", err)
	}
	was, err := b.setting(ctx, session, fmt.Sprintf(`(await chrome.settingsPrivate.getPref(%q)).value`, selectedLanguages))
	if err == nil { // before it is another: a crash in between leaves both
		err = keepOwnLanguages(b.spec.UserDataDir, was)
	}
	if err != nil {
		return fmt.Errorf("keep the browser's own languages: %w", err)
	}
	list := strings.Join(languages, ",")
	is, err := b.setting(ctx, session, fmt.Sprintf(`await chrome.settingsPrivate.setPref(%[1]q, %[2]q), (await chrome.settingsPrivate.getPref(%[1]q)).value`, selectedLanguages, list))
	if err == nil && is != list {
		err = fmt.Errorf("they are %q", is)
	}
	return err
}

// setting evaluates an expression that comes to a text on a page of the browser's settings.
func (b *Browser) setting(ctx context.Context, session, expression string) (string, error) {
	var r struct {
		Result struct {
			Value string `json:"value"`
		} `json:"result"`
		Exception *struct {
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	params := map[string]any{"expression": "(async () => (" + expression + "))()", "awaitPromise": true, "returnByValue": true}
	if err := b.mux.call(ctx, session, "Runtime.evaluate", params, &r); err != nil {
		return "", err
	}
	if r.Exception != nil {
		return "", errors.New(r.Exception.Exception.Description)
	}
	return r.Result.Value, nil
}
