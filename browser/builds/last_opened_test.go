package builds

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLastOpened(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]int{"": 0, "156.0.8078.79": 156, "150.0.7871.100\n": 150, "156": 0, "a.b.c.d": 0} {
		if err := os.WriteFile(filepath.Join(dir, "Last Version"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if version, major := LastOpened(dir); major != want || (major == 0) != (version == "") {
			t.Errorf("%q: %q, %d", text, version, major)
		}
	}
	if version, major := LastOpened(filepath.Join(dir, "none")); version != "" || major != 0 {
		t.Errorf("of none: %q, %d", version, major)
	}
}
