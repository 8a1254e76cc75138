package api

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// TestSamplesOfTheDocumentation runs the samples that /docs shows (web/testdata/samples.json) against the server. A profile with a
// name that needs quoting is created, found and deleted, in each language whose tool is here.
func TestSamplesOfTheDocumentation(t *testing.T) {
	t.Parallel()
	var all []struct {
		ID      string            `json:"id"`
		Samples map[string]string `json:"samples"`
	}
	if err := json.Unmarshal([]byte(readText(t, "../web/testdata/samples.json")), &all); err != nil {
		t.Fatal(err)
	}
	a := newAPI(t)
	for language, run := range map[string][]string{"curl": {"sh"}, "javascript": {"node"}, "python": {"python3"}, "go": {"go", "run"}} {
		t.Run(language, func(t *testing.T) {
			tool := run[0]
			if language == "curl" {
				tool = "curl"
			}
			if _, err := exec.LookPath(tool); err != nil {
				t.Skipf("needs %s: %v", tool, err)
			}
			call := func(id, profile string) string {
				for _, one := range all {
					if one.ID == id {
						return a.runSample(t, run, language,
							strings.ReplaceAll(one.Samples[language], "/profiles/ID", "/profiles/"+profile))
					}
				}
				t.Fatalf("there is no sample of %s", id)
				return ""
			}
			call("createProfile", "")
			made := a.do(t, "GET", "/profiles?limit=1", nil).want(t, 200)
			if got, want := made.text("data.0.name"), `It's "$HOME" \ ü`; got != want {
				t.Fatalf("the name is %q, want %q", got, want)
			}
			made.equal(t, "data.0.notes", "`\t<&>")
			made.equal(t, "data.0.headless", true)
			if language == "go" { // each more would be compiled first
				return
			}
			id := made.text("data.0.id")
			if out := call("listProfiles", ""); !strings.Contains(out, id) {
				t.Errorf("the list lacks the profile: %s", out)
			}
			call("deleteProfile", id)
			a.do(t, "GET", "/profiles/"+id, nil).refused(t, 404, "profile_not_found")
		})
	}
}

// runSample runs a sample against the server, and returns what it prints.
func (a *testAPI) runSample(t *testing.T, run []string, language, text string) string {
	t.Helper()
	ending := map[string]string{"curl": ".sh", "javascript": ".mjs", "python": ".py", "go": ".go"}[language]
	file := filepath.Join(t.TempDir(), "sample"+ending)
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "http://127.0.0.1:7777", a.base)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), run[0], append(run[1:], file)...)
	cmd.Env = append(os.Environ(), "WARREN_API_KEY="+a.key, "PYTHONUTF8=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s\n%s", cmd.Args, err, out, text)
	}
	return string(out)
}
