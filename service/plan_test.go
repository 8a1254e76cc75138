package service

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// machine is a system that has these files and this binary.
func machine(t *testing.T, goos string, user bool, files ...string) System {
	t.Helper()
	s := System{OS: goos, User: user, Root: !user, Program: "/opt/a&b/warren", Home: "/home/eve", Config: "/home/eve/.config",
		Data: `C:\ProgramData\warren`, Files: map[string]string{}}
	for _, name := range []string{"warren.service", "warren-user.service", "warren.sysusers", "warren.tmpfiles", "warren.plist",
		"apparmor-warren"} {
		text, err := os.ReadFile(filepath.Join("..", "deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		s.Files[name] = string(text)
	}
	s.Has = func(path string) bool { return slices.Contains(append(files, "/run/systemd/system"), path) }
	return s
}

// outline is the steps in a line each, without texts.
func outline(steps []Step) string {
	var b strings.Builder
	for _, s := range steps {
		switch {
		case s.Write != "":
			fmt.Fprintln(&b, "write", s.Write)
		case s.Remove != "":
			fmt.Fprintln(&b, "remove", s.Remove)
		default:
			fmt.Fprintln(&b, strings.Join(s.Command, " "))
		}
	}
	return strings.TrimSpace(b.String())
}

// TestPlans: what is written and called on each system, and that what an installation writes a removal removes.
func TestPlans(t *testing.T) {
	t.Parallel()
	const packagedUnit = "/usr/lib/systemd/system/warren.service"
	for _, c := range []struct {
		name               string
		s                  System
		install, uninstall string
	}{
		{"system", machine(t, "linux", false), `write /etc/sysusers.d/warren.conf
write /etc/tmpfiles.d/warren.conf
write /etc/systemd/system/warren.service
systemd-sysusers /etc/sysusers.d/warren.conf
systemd-tmpfiles --create /etc/tmpfiles.d/warren.conf
systemctl daemon-reload
systemctl enable warren.service
systemctl restart warren.service`, `systemctl disable --now warren.service
remove /etc/systemd/system/warren.service
remove /etc/sysusers.d/warren.conf
remove /etc/tmpfiles.d/warren.conf
systemctl daemon-reload`},
		{"packaged", machine(t, "linux", false, packagedUnit), `systemctl daemon-reload
systemctl enable warren.service
systemctl restart warren.service`, `systemctl disable --now warren.service
systemctl daemon-reload`},
		{"user", machine(t, "linux", true), `write /home/eve/.config/systemd/user/warren.service
systemctl --user daemon-reload
systemctl --user enable warren.service
systemctl --user restart warren.service`, `systemctl --user disable --now warren.service
remove /home/eve/.config/systemd/user/warren.service
systemctl --user daemon-reload`},
		{"macOS", machine(t, "darwin", true), `write /home/eve/Library/LaunchAgents/warren.plist
launchctl bootout gui/UID/warren
launchctl bootstrap gui/UID /home/eve/Library/LaunchAgents/warren.plist`, `launchctl bootout gui/UID/warren
remove /home/eve/Library/LaunchAgents/warren.plist`},
		{"Windows", machine(t, "windows", false),
			`sc.exe create warren binPath= "/opt/a&b/warren" --config "C:\ProgramData\warren\config.toml" serve ` +
				`--data "C:\ProgramData\warren\data"` +
				` start= delayed-auto obj= NT SERVICE\warren DisplayName= Warren
sc.exe description warren Browser profiles, each behind its proxy
sc.exe failure warren reset= 86400 actions= restart/1000
write C:\ProgramData\warren\config.toml
icacls.exe C:\ProgramData\warren /inheritance:r /grant NT SERVICE\warren:(OI)(CI)F ` +
				`/grant *S-1-5-32-544:(OI)(CI)F /grant *S-1-5-18:(OI)(CI)F
sc.exe start warren`, `net.exe stop warren
sc.exe delete warren`},
	} {
		install, err := c.s.Install()
		uninstall, failed := c.s.Uninstall()
		if err != nil || failed != nil || outline(install) != c.install || outline(uninstall) != c.uninstall {
			t.Errorf("%s: %v, %v\n%s\n\n%s", c.name, err, failed, outline(install), outline(uninstall))
		}
		for _, step := range install {
			if step.Write == "" {
				continue
			}
			if !strings.Contains(step.Text, mark) || strings.Contains(step.Text, packaged) || strings.Contains(step.Text, "@LOG@") {
				t.Errorf("%s: %s has no mark, another binary or a place that was not filled:\n%s", c.name, step.Write, step.Text)
			}
		}
	}
	steps, err := machine(t, "linux", false, restricted).Install()
	if err != nil || !slices.ContainsFunc(steps, func(s Step) bool {
		return s.Write == "/etc/apparmor.d/warren" && strings.Contains(s.Text, "\nprofile warren /opt/a&b/warren flags=")
	}) {
		t.Errorf("where AppArmor restricts user namespaces there is no profile for this binary: %v\n%s", err, outline(steps))
	}
}

// TestAgentIsXML: the agent's file is a property list, whatever the binary's path.
func TestAgentIsXML(t *testing.T) {
	t.Parallel()
	steps, err := machine(t, "darwin", true).Install()
	if err != nil {
		t.Fatal(err)
	}
	decoder, texts := xml.NewDecoder(strings.NewReader(steps[0].Text)), []string{}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v:\n%s", err, steps[0].Text)
		}
		if text, ok := token.(xml.CharData); ok {
			texts = append(texts, string(text))
		}
	}
	if !slices.Contains(texts, "/opt/a&b/warren") || !slices.Contains(texts, "/home/eve/Library/Logs/warren.log") {
		t.Errorf("the binary or the log is not in it: %q", texts)
	}
}

// TestRefusedPlans: every reason why there can be no service is told at once.
func TestRefusedPlans(t *testing.T) {
	t.Parallel()
	bad := machine(t, "linux", false)
	bad.Root, bad.Program = false, "/home/eve/my warren"
	bad.Has = func(string) bool { return false }
	mac := machine(t, "darwin", false)
	windows := machine(t, "windows", true)
	for _, c := range []struct {
		s    System
		want []string
	}{
		{bad, []string{"systemd does not run", "only root", "does not see /home/", "characters"}},
		{mac, []string{"use --user"}}, {windows, []string{"use --system"}},
		{machine(t, "plan9", true), []string{"Linux, macOS and Windows"}},
	} {
		_, err := c.s.Install()
		if _, again := c.s.Uninstall(); fmt.Sprint(again) != fmt.Sprint(err) {
			t.Errorf("%s: a removal is refused with %v", c.s.OS, again)
		}
		lines := strings.Split(fmt.Sprint(err), "\n")
		if len(lines) != len(c.want) {
			t.Fatalf("%s: %q, want %q", c.s.OS, lines, c.want)
		}
		for i, want := range c.want {
			if !strings.Contains(lines[i], want) {
				t.Errorf("%s: %q, want %q", c.s.OS, lines[i], want)
			}
		}
	}
}

// TestSteps: files are written and removed, those of others stay and nothing is begun, and a dry run does nothing.
func TestSteps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ours, other, once := filepath.Join(dir, "new", "ours"), filepath.Join(dir, "other"), filepath.Join(dir, "once")
	for path, text := range map[string]string{other: "mine", once: "mine"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(path string) string {
		text, _ := os.ReadFile(path)
		return string(text)
	}
	write := Step{Say: "it", Write: ours, Text: mark}
	for _, c := range []struct {
		name  string
		steps []Step
		dry   bool
		want  string // of the error
		ours  string
	}{
		{"dry", []Step{write, {Command: []string{"/no/such"}}}, true, "<nil>", ""},
		{"another's", []Step{write, {Remove: other}, {Write: other}}, false, "was not written by", ""},
		{"a command that fails", []Step{write, {Say: "it", Command: []string{"/no/such"}}}, false, "it: ", mark},
		{"one that may", []Step{{Command: []string{"/no/such"}, May: true}, {Write: once, Once: true, Text: "x"}}, false, "<nil>", mark},
		{"removed", []Step{{Remove: ours}, {Remove: ours}}, false, "<nil>", ""},
	} {
		err := perform(t.Context(), io.Discard, c.steps, c.dry)
		if !strings.Contains(fmt.Sprint(err), c.want) || read(ours) != c.ours || read(other) != "mine" || read(once) != "mine" {
			t.Errorf("%s: %v, and the files are %q, %q, %q", c.name, err, read(ours), read(other), read(once))
		}
	}
}
