package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Chrome connects to a site as soon as a page is about to open there, before it has asked anything (chrome/browser/predictors). Visits
// without a request must not do that, so predictions are off meanwhile. The profile's own choice lies in a file beside its preferences.

// predictionOptions is the preference, and predictionNever its value for none (chrome/browser/preloading/preloading_prefs.h).
const (
	predictionOptions = "net.network_prediction_options"
	predictionNever   = 2
)

func ownPredictionFile(userDataDir string) string {
	return filepath.Join(userDataDir, profileFolder, "Own Prediction")
}

// saveOwnPrediction saves the profile's own value, null for none, unless one is saved already.
func saveOwnPrediction(userDataDir string, value json.RawMessage) error {
	file := ownPredictionFile(userDataDir)
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return writeFile(file, value)
}

// predictionSettings returns the preference for a run without predictions, or restores the profile's own. done must be called after it is
// written.
func predictionSettings(userDataDir string, off bool) (all []preference, done func() error, err error) {
	nothing := func() error { return nil }
	if off {
		now, err := readPreferences(filepath.Join(userDataDir, profileFolder, "Preferences"))
		if err != nil {
			return nil, nil, err
		}
		own, err := json.Marshal(preference{path: predictionOptions}.get(now))
		if err != nil {
			return nil, nil, fmt.Errorf("encode the profile's own choice: %w", err)
		}
		return []preference{{predictionOptions, predictionNever, false}}, nothing, saveOwnPrediction(userDataDir, own)
	}
	file := ownPredictionFile(userDataDir)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nothing, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the profile's own choice: %w", err)
	}
	var own any
	_ = json.Unmarshal(text, &own) // an unreadable file: Chrome's default
	return []preference{{predictionOptions, own, false}}, func() error { return os.Remove(file) }, nil
}
