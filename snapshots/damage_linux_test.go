package snapshots

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// breaks are the ways in which a crash of a machine leaves a file. torn is what Chrome goes on from by itself.
var breaks = map[string]func(text []byte) []byte{
	"empty":   func([]byte) []byte { return nil },
	"zeros":   func(text []byte) []byte { return make([]byte, len(text)) },
	"half":    func(text []byte) []byte { return text[:len(text)/2] },
	"garbage": func(text []byte) []byte { return noise(len(text)) },
	"middle": func(text []byte) []byte {
		return append(text[:len(text)/2:len(text)/2], noise(len(text)-len(text)/2)...)
	},
	"torn": func(text []byte) []byte { return append(text, noise(5)...) },
}

func noise(n int) []byte {
	out, from := make([]byte, n), rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	for i := range out {
		out[i] = byte(from.Uint32())
	}
	return out
}

// breakEach breaks each file that counts, one at a time, in a folder that Chrome has closed, and wants that to be seen. The folder is
// as before afterwards.
func breakEach(t *testing.T, folder string) {
	chrome := filepath.Join(folder, "chrome")
	damages := func(thorough bool) []Damage {
		i, err := inspect(t.Context(), chrome, Inspection{Thorough: thorough})
		must(t, err)
		return i.found
	}
	if found := damages(true); len(found) > 0 {
		t.Fatalf("in a whole profile %v is damaged", found)
	}
	for at, kinds := range map[string][]string{
		"Local State":                              {"empty", "zeros", "half", "garbage", "torn"},
		"Default/Preferences":                      {"empty", "zeros", "half", "garbage"},
		"Default/Secure Preferences":               {"empty", "half"},
		"Default/Cookies":                          {"zeros", "half", "garbage", "middle"},
		"Default/Login Data":                       {"zeros", "half", "garbage"},
		"Default/Web Data":                         {"zeros", "half"},
		"Default/History":                          {"zeros", "half", "middle"},
		"Default/Local Storage/leveldb/CURRENT":    {"empty", "zeros", "half", "garbage"},
		"Default/Local Storage/leveldb/MANIFEST-*": {"empty", "zeros", "garbage", "middle"},
		"Default/IndexedDB/*.leveldb/CURRENT":      {"empty", "zeros"},
		"Default/IndexedDB/*.leveldb/MANIFEST-*":   {"empty", "garbage"},
		"Default/Service Worker/Database/CURRENT":  {"empty"},
	} {
		for _, kind := range kinds {
			files, err := filepath.Glob(filepath.Join(chrome, filepath.FromSlash(at)))
			must(t, err)
			if len(files) == 0 {
				t.Errorf("there is no %s", at)
				break
			}
			whole, err := os.ReadFile(files[0])
			must(t, err)
			must(t, os.WriteFile(files[0], breaks[kind](slices.Clone(whole)), 0o600))
			if found := damages(kind == "middle"); len(found) != 1 {
				t.Errorf("%s, %s: damages %v", at, kind, found)
			}
			must(t, os.WriteFile(files[0], whole, 0o600))
		}
	}
	bearsTornEnds(t, chrome, damages)
}

// bearsTornEnds: the end of a log that was being written is what every crash leaves, and is no damage.
func bearsTornEnds(t *testing.T, chrome string, damages func(thorough bool) []Damage) {
	for _, pattern := range []string{"Local Storage/leveldb/*.log", "Local Storage/leveldb/MANIFEST-*", "Session Storage/*.log"} {
		files, err := filepath.Glob(filepath.Join(chrome, "Default", filepath.FromSlash(pattern)))
		must(t, err)
		for _, file := range files {
			whole, err := os.ReadFile(file)
			must(t, err)
			must(t, os.WriteFile(file, breaks["torn"](slices.Clone(whole)), 0o600))
			if found := damages(true); len(found) > 0 {
				t.Errorf("%s with a torn end: damages %v", pattern, found)
			}
			must(t, os.WriteFile(file, whole, 0o600))
			if list, ok := readManifest(whole); !ok || filepath.Ext(file) == ".log" {
				continue
			} else if len(list.tables) > 0 {
				t.Logf("%s lists %d tables", file, len(list.tables))
			}
			for at := range whole { // whatever a byte is, nothing panics
				flipped := slices.Clone(whole)
				flipped[at] ^= 0x55
				readManifest(flipped)
			}
		}
	}
}
