package browser

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSandboxIsOn: as an ordinary user every renderer is under seccomp; as root Isolation says that it is not.
func TestSandboxIsOn(t *testing.T) {
	p := newProfile(t)
	b := p.start()
	renderers := 0
	stats, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range stats {
		args, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if !strings.Contains(string(args), "--type=renderer") || !strings.Contains(string(args), p.dir) {
			continue
		}
		status, err := os.ReadFile(file)
		if err != nil {
			continue // gone meanwhile
		}
		renderers++
		on := slices.Contains(regexp.MustCompile(`(?m)^Seccomp:\s*(\d)`).FindStringSubmatch(string(status)), "2")
		if on != b.Isolation().Sandbox {
			t.Errorf("%s: seccomp filter on: %v, Isolation says %v", file, on, b.Isolation().Sandbox)
		}
	}
	if renderers == 0 {
		t.Error("no renderer was found")
	}
}
