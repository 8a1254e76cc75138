package browser

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExtensionPreferences: which entries of a profile's preferences a start keeps, changes and removes. All of the run's own deny files.
func TestExtensionPreferences(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept, other, unknown := Extension{ID: pathID("kept"), Path: "/data/extensions/kept"}, Extension{ID: pathID("other"), Path: "/x/new"},
		Extension{ID: pathID("unknown"), Path: "/x/unknown"}
	gone, persons, store := pathID("gone"), pathID("of a person"), pathID("of the store")
	entry := func(path string, location, flags int) map[string]any {
		return map[string]any{"location": location, "path": path, "creation_flags": flags, "newAllowFileAccess": true, "grants": "x"}
	}
	text, err := json.Marshal(map[string]any{"extensions": map[string]any{"settings": map[string]any{
		kept.ID: entry(kept.Path, 4, 34|1<<2|1<<15), other.ID: entry("/x/old", 4, 34), unknown.ID: entry(unknown.Path, 4, 34|1<<16),
		gone: entry("/old/data/extensions/"+strings.Repeat("0a", 32), 4, 34), pathID("/old"): denied(),
		persons: entry("/home/person/mine", 4, 34), store: entry("store/1_0", 1, 1)}}})
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, profileFolder), 0o700)
	}
	file := filepath.Join(dir, profileFolder, "Preferences")
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	change, err := extensionPreferences(&Spec{UserDataDir: dir, Extensions: []Extension{kept, other, unknown}})
	if err == nil {
		err = mergeInto(file, change)
	}
	all, failed := readPreferences(file)
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	settings := preference{path: extensionSettings}.get(all).(map[string]any)
	for id, want := range map[string]string{
		kept.ID: `{"creation_flags":34,"disable_reasons":[],"grants":"x","location":4,"newAllowFileAccess":false,"path":"/data/` +
			`extensions/kept"}`,
		other.ID: `{"newAllowFileAccess":false}`, unknown.ID: `{"newAllowFileAccess":false}`,
		pathID(kept.Path): `{"newAllowFileAccess":false}`, gone: "null", pathID("/old"): "null",
		persons: `{"creation_flags":34,"grants":"x","location":4,"newAllowFileAccess":true,"path":"/home/person/mine"}`,
		store:   `{"creation_flags":1,"grants":"x","location":1,"newAllowFileAccess":true,"path":"store/1_0"}`,
	} {
		if got, _ := json.Marshal(settings[id]); string(got) != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
	if on := (preference{path: developerMode}).get(all); on != true {
		t.Errorf("developer mode is %v", on)
	}
}
