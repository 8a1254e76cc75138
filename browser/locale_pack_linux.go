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

// This file gives every process of the browser the profile's first language as its locale from its first moment. Chrome takes the locale from
// LANGUAGE, but none for which locales/NAME.pak lies beside the program (ui/base/l10n/l10n_util.cc): Debian's Chromium has en-US alone, and no
// build has de-DE. DevTools' override of it is no substitute: it is one renderer process' (third_party/blink/renderer/core/inspector/locale_controller.cc),
// and a pop-up that goes to another site, or a tab whose process another tab shares, loses it. So a run in a mount namespace sees a folder of packs in
// which its language has one.

// packDir is the folder of language packs that the run sees in place of the program's.
func (s *Spec) packDir() string { return filepath.Join(s.TempDir, "locales") }

// programPacks is the folder of packs beside the program, "" where there is none.
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

// defaultPack is Chrome's own choice where it has nothing that is wanted.
const defaultPack = "en-US"

// copyLocalePack makes the folder of packs for a run that sees it (hidden), and reports whether all processes begin with the profile's first language, as
// they do where it has a pack of its own.
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
	text, err := readPack(from, packCandidates(first))
	if err == nil {
		err = os.WriteFile(filepath.Join(s.packDir(), first+".pak"), text, 0o600)
	}
	if err == nil {
		text, err = readPack(from, []string{defaultPack})
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(s.packDir(), defaultPack+".pak"), text, 0o600)
	}
	if err != nil {
		return false, fmt.Errorf("copy a language pack: %w", err)
	}
	return true, nil
}

// packCandidates are the packs that speak a language, best first, as Chrome chooses them (l10n_util.cc, CheckAndResolveLocale).
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

// readPack reads the first pack that is there.
func readPack(dir string, names []string) (text []byte, err error) {
	for _, name := range names {
		text, err = os.ReadFile(filepath.Join(dir, name+".pak"))
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return text, err
}
