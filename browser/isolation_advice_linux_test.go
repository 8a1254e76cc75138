package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAdviceNamesFilesThatAreThere: what lies beside the program is named with its path. Without it, advice names no file of this machine.
func TestAdviceNamesFilesThatAreThere(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(filepath.Dir(exe), "deploy")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	file := filepath.Join(folder, "apparmor-warren")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := appArmorAdvice(deployed("apparmor-warren")); !strings.HasPrefix(got, "sudo cp "+file+" /etc/apparmor.d/warren && ") {
		t.Errorf("beside the program: %s", got)
	}
	if got := deployed("no-such-file"); got != "" {
		t.Errorf("a file that is nowhere is at %s", got)
	}
	if got := appArmorAdvice(""); !strings.HasPrefix(got, "sudo warren install-service") {
		t.Errorf("with no file: %s", got)
	}
	for file, want := range map[string]string{
		"/usr/share/warren/x": "docker run --rm --entrypoint cat IMAGE /usr/share/warren/x >seccomp.json; docker run ",
		"":                    "take deploy/seccomp.json out of Warren's archive; docker run "} {
		if got := seccompAdvice(file, "--more"); got != want+"--security-opt seccomp=seccomp.json --more …" {
			t.Errorf("%q: %s", file, got)
		}
	}
}
