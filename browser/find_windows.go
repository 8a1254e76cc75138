package browser

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// UsualPlaces returns the installers' folders, of the machine and of the user.
func UsualPlaces() []string {
	programs := []string{
		`Google\Chrome\Application\chrome.exe`, `Chromium\Application\chrome.exe`, `Microsoft\Edge\Application\msedge.exe`,
		`BraveSoftware\Brave-Browser\Application\brave.exe`,
	}
	var places []string
	for _, key := range []string{"ProgramFiles", "ProgramFiles(x86)", "ProgramW6432", "LocalAppData"} {
		folder := os.Getenv(key)
		if folder == "" {
			continue
		}
		for _, p := range programs {
			places = append(places, filepath.Join(folder, p))
		}
	}
	return places
}

// program returns path: only macOS has bundles.
func program(path string) string { return path }

// runnable accepts every file: Windows decides by the name, which LookPath has checked.
func runnable(string, fs.FileInfo) error { return nil }

func installHint() string {
	return "Install it with: winget install --id Hibbiki.Chromium (or Google.Chrome)"
}

// installedAt reads the version from an installer's folder or a build's manifest beside the program, which have it as their name.
// chrome.exe --version would open a window.
func installedAt(_ context.Context, path string) (Installed, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return Installed{}, err
	}
	version := regexp.MustCompile(`^\d+\.\d+\.\d+\.\d+$`)
	var found Installed
	for _, e := range entries {
		name, manifest := strings.CutSuffix(e.Name(), ".manifest")
		if !version.MatchString(name) || e.IsDir() == manifest {
			continue
		}
		if major := majorOf(name); major >= found.Major {
			found = Installed{Path: path, Product: productOf(path), Version: name, Major: major}
		}
	}
	if found.Version == "" {
		return Installed{}, errNotBrowser
	}
	return found, nil
}

// productOf derives the product from the program's folder.
func productOf(path string) string {
	lower := strings.ToLower(path)
	for part, product := range map[string]string{`\chromium\`: "Chromium", `\edge\`: "Microsoft Edge", `\brave-browser\`: "Brave Browser",
		`\chrome-win64\`: "Google Chrome for Testing", `\chrome-win32\`: "Google Chrome for Testing"} {
		if strings.Contains(lower, part) {
			return product
		}
	}
	return "Google Chrome"
}
