package builds

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"warren/browser"
)

// LastOpened returns the full version and the major of the browser that last opened a folder of user data. It returns "" and 0 if none is
// recorded. Chrome, Edge and Brave record it in the file "Last Version" (chrome/browser/downgrade/downgrade_utils.cc).
func LastOpened(userDataDir string) (version string, major int) {
	f, err := os.Open(filepath.Join(userDataDir, "Last Version"))
	if err != nil {
		return "", 0
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64))
	if err != nil {
		return "", 0
	}
	v, ok := browser.ParseVersion(strings.TrimSpace(string(text)))
	if !ok {
		return "", 0
	}
	return strings.TrimSpace(string(text)), v[0]
}
