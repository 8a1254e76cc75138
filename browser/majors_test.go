package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestMajorsTable: each line is a major and a real build of it, in order.
func TestMajorsTable(t *testing.T) {
	last := 0
	for line := range strings.Lines(majorsTable) {
		name, build, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		major, err := strconv.Atoi(name)
		v, ok := ParseVersion(build)
		if err != nil || !ok || v[0] != major || major <= last || v[2] == 0 {
			t.Errorf("%q", line)
		}
		if got := buildOf(major); got != build {
			t.Errorf("%d: %s, want %s", major, got, build)
		}
		last = major
	}
	for _, major := range []int{100, 120, 124, 130, 140, 150, 156} {
		if strings.HasSuffix(buildOf(major), ".0.0.0") {
			t.Errorf("%d has no build", major)
		}
	}
	for major, want := range map[int]string{999: "999.0.0.0", 1: "1.0.0.0", 15: "15.0.0.0"} {
		if got := buildOf(major); got != want {
			t.Errorf("%d: %s, want %s", major, got, want)
		}
	}
}

// TestMajorsGenerator: it reads both formats, takes the highest build, compares numbers rather than text, and never removes or lowers an
// entry of the table.
func TestMajorsGenerator(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	table := write("majors.txt", "99 99.0.4844.94\n124 124.0.6367.243\n125 125.0.1.1\n")
	milestones := write("milestones.json", `{"timestamp":"2026-11-21T00:00:00Z",`+
		`"milestones":{"125":{"milestone":"125",`+
		`"version":"125.0.6422.141","revision":"1"},"124":{"milestone":"124","version":"124.0.6367.99"}}}`)
	electron := write("electron.json", `{"126.0.6478.9":["31.0.0"],"126.0.6478.10":["31.1.0"],"no version":[]}`)
	program := filepath.Join(dir, "mkmajors")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "mkmajors.go").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, source := range []string{milestones, electron} {
		if out, err := exec.CommandContext(t.Context(), program, table, source).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", source, err, out)
		}
	}
	if out, err := exec.CommandContext(t.Context(), program, table, write("empty.json", `{}`)).CombinedOutput(); err == nil {
		t.Errorf("a source without versions was taken: %s", out)
	}
	got, err := os.ReadFile(table)
	if want := "99 99.0.4844.94\n124 124.0.6367.243\n125 125.0.6422.141\n126 126.0.6478.10\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}
