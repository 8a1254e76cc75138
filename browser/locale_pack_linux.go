package browser

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A locale pack lets every process of the browser begin with the profile's first language. Chrome takes the locale from LANGUAGE, but only
// if locales/NAME.pak lies beside the program (ui/base/l10n/l10n_util.cc). Debian's Chromium has en-US only, and no build has de-DE.
//
// The DevTools override is no substitute: it applies to one renderer process
// (third_party/blink/renderer/core/inspector/locale_controller.cc). A pop-up that navigates to another site, or a tab that shares its
// process, loses it. So a run in a mount namespace sees a folder of packs with one for its language.

// packDir is the folder of locale packs that the run sees in place of the program's.
func (s *Spec) packDir() string { return filepath.Join(s.TempDir, "locales") }

// programPacks returns the folder of packs beside the program, "" for none.
func (s *Spec) programPacks() string {
	program, err := filepath.EvalSymlinks(s.Path)
	if err != nil {
		return ""
	}
	dir := filepath.Join(filepath.Dir(program), "locales")
	if _, err := os.Stat(filepath.Join(dir, defaultPack+".pak")); err != nil {
		return ""
	}
	return dir
}

// defaultPack is the pack that Chrome takes if it has none of the wanted language.
const defaultPack = "en-US"

// copyLocalePack creates the folder of packs. hidden says that the run has a mount namespace, and can see the folder. It reports whether
// all processes begin with the profile's first language, as they also do if the program has its pack.
func copyLocalePack(s *Spec, hidden bool) (holds bool, err error) {
	from := s.programPacks()
	if len(s.Identity.Languages) == 0 || from == "" {
		return false, nil
	}
	first := s.Identity.Languages[0]
	if _, err := os.Stat(filepath.Join(from, first+".pak")); err == nil {
		return true, nil
	}
	if !hidden {
		return false, nil
	}
	if err := os.Mkdir(s.packDir(), 0o700); err != nil {
		return false, fmt.Errorf("make the folder for language packs: %w", err)
	}
	for name, candidates := range map[string][]string{first: packCandidates(first), defaultPack: {defaultPack}} {
		text, err := readPack(from, candidates)
		if err == nil {
			err = os.WriteFile(filepath.Join(s.packDir(), name+".pak"), text, 0o600)
		}
		if err != nil {
			return false, fmt.Errorf("copy a language pack: %w", err)
		}
	}
	return true, nil
}

// packCandidates returns the packs of a language, best first, in Chrome's order (l10n_util.cc, CheckAndResolveLocale).
func packCandidates(tag string) []string {
	language, region, _ := strings.Cut(tag, "-")
	var near []string
	switch language {
	case "en":
		if slices.Contains([]string{"AU", "CA", "NZ", "ZA"}, region) {
			near = []string{"en-GB"}
		}
	case "es":
		if region != "ES" {
			near = []string{"es-419"}
		}
	case "pt":
		near = []string{"pt-PT"}
	case "zh":
		near = []string{"zh-CN"}
		if slices.Contains([]string{"HK", "MO"}, region) {
			near = []string{"zh-TW"}
		}
	}
	return append(near, language, defaultPack)
}

// readPack reads the first existing pack.
func readPack(dir string, names []string) (text []byte, err error) {
	for _, name := range names {
		text, err = os.ReadFile(filepath.Join(dir, name+".pak"))
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return text, err
}
