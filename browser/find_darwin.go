package browser

import (
	"os"
	"path/filepath"
	"strings"
)

// UsualPlaces returns the application bundles of the machine and of the user.
func UsualPlaces() []string {
	apps := []string{"Chromium", "Google Chrome", "Google Chrome for Testing", "Microsoft Edge", "Brave Browser", "Google Chrome Beta",
		"Google Chrome Canary"}
	folders := []string{"/Applications"}
	if home, err := os.UserHomeDir(); err == nil {
		folders = append(folders, filepath.Join(home, "Applications"))
	}
	var places []string
	for _, folder := range folders {
		for _, app := range apps {
			places = append(places, filepath.Join(folder, app+".app"))
		}
	}
	return places
}

// program returns the program in an application bundle, or path itself.
func program(path string) string {
	name, ok := strings.CutSuffix(filepath.Base(path), ".app")
	if !ok {
		return path
	}
	return filepath.Join(path, "Contents", "MacOS", name)
}

func installHint() string { return "Install it with: brew install --cask chromium" }
