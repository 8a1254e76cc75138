package service

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
)

// System is what a plan depends on.
type System struct {
	OS      string            // as runtime.GOOS
	User    bool              // a person's own service, else the system's
	Root    bool              // whether this process may change the system
	Program string            // the path of this binary
	Home    string            // of the person
	Config  string            // the person's configuration folder, which has systemd's too
	Data    string            // the data folder that stays, for people
	Files   map[string]string // the texts of the folder deploy
	Has     func(path string) bool
}

// Step is one thing to do. Exactly one of Write, Remove and Command is set.
type Step struct {
	Say     string
	Write   string   // the path of a file
	Text    string   // what is written
	Once    bool     // whether a file that is there stays as it is
	Remove  string   // the path of a file
	Command []string // a program and its arguments
	May     bool     // whether it may fail
}

// mark is in every file that a plan writes. A file without it is somebody else's, and stays.
const mark = "warren install-service"

// packaged is the program whose path stands in the files of the folder deploy.
const packaged = "/usr/bin/warren"

// confined is where the AppArmor profile expects the program.
const confined = "/{usr/bin,usr/local/bin,opt/warren,home/*/**}/warren"

// Install returns the steps that install and start the service. The error names every reason why that cannot be done.
func (s System) Install() ([]Step, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	switch {
	case s.OS == "darwin":
		plist := s.launchAgent()
		return []Step{
			{Say: "the agent", Write: plist, Text: s.plist()},
			{Say: "stop an earlier one", Command: []string{"launchctl", "bootout", "gui/UID/warren"}, May: true},
			{Say: "start it, now and at each login", Command: []string{"launchctl", "bootstrap", "gui/UID", plist}},
		}, nil
	case s.OS == "windows":
		return s.windows(), nil
	case s.User:
		return []Step{
			{Say: "the unit", Write: s.userUnit(), Text: s.text("warren-user.service")},
			{Say: "read it", Command: []string{"systemctl", "--user", "daemon-reload"}},
			{Say: "start it, now and at each login", Command: []string{"systemctl", "--user", "enable", "warren.service"}},
			{Say: "with this binary", Command: []string{"systemctl", "--user", "restart", "warren.service"}},
		}, nil
	}
	return s.systemd(), nil
}

// systemd is the system's service on Linux.
func (s System) systemd() []Step {
	var out []Step
	if !s.packagedUnit() {
		out = append(out, Step{Say: "the service's user", Write: "/etc/sysusers.d/warren.conf", Text: s.text("warren.sysusers")},
			Step{Say: "its folders", Write: "/etc/tmpfiles.d/warren.conf", Text: s.text("warren.tmpfiles")},
			Step{Say: "the unit", Write: "/etc/systemd/system/warren.service", Text: s.text("warren.service")},
			Step{Say: "make the user", Command: []string{"systemd-sysusers", "/etc/sysusers.d/warren.conf"}},
			Step{Say: "make the folders", Command: []string{"systemd-tmpfiles", "--create", "/etc/tmpfiles.d/warren.conf"}})
		if s.Has(restricted) {
			out = append(out, Step{Say: "user namespaces, which AppArmor restricts here", Write: "/etc/apparmor.d/warren",
				Text: s.text("apparmor-warren")}, Step{Say: "load it",
				Command: []string{"apparmor_parser", "-r", "/etc/apparmor.d/warren"}})
		}
	}
	return append(out, Step{Say: "read the units", Command: []string{"systemctl", "daemon-reload"}},
		Step{Say: "start it at each boot", Command: []string{"systemctl", "enable", "warren.service"}},
		Step{Say: "start it now", Command: []string{"systemctl", "restart", "warren.service"}})
}

// restricted tells that AppArmor restricts user namespaces (Ubuntu 23.10).
const restricted = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"

// Uninstall returns the steps that stop and remove the service. The data stay.
func (s System) Uninstall() ([]Step, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	switch {
	case s.OS == "darwin":
		return []Step{{Say: "stop it", Command: []string{"launchctl", "bootout", "gui/UID/warren"}, May: true},
			{Say: "the agent", Remove: s.launchAgent()}}, nil
	case s.OS == "windows":
		return []Step{{Say: "stop it", Command: []string{"net.exe", "stop", "warren"}, May: true},
			{Say: "remove it", Command: []string{"sc.exe", "delete", "warren"}}}, nil
	case s.User:
		return []Step{{Say: "stop it", Command: []string{"systemctl", "--user", "disable", "--now", "warren.service"}, May: true},
			{Say: "the unit", Remove: s.userUnit()},
			{Say: "forget it", Command: []string{"systemctl", "--user", "daemon-reload"}}}, nil
	}
	out := []Step{{Say: "stop it", Command: []string{"systemctl", "disable", "--now", "warren.service"}, May: true}}
	if !s.packagedUnit() {
		for _, file := range []string{"/etc/systemd/system/warren.service", "/etc/sysusers.d/warren.conf", "/etc/tmpfiles.d/warren.conf"} {
			out = append(out, Step{Say: "a file", Remove: file})
		}
		if s.Has("/etc/apparmor.d/warren") {
			out = append(out, Step{Say: "unload it", Command: []string{"apparmor_parser", "-R", "/etc/apparmor.d/warren"}, May: true},
				Step{Say: "a file", Remove: "/etc/apparmor.d/warren"})
		}
	}
	return append(out, Step{Say: "forget it", Command: []string{"systemctl", "daemon-reload"}}), nil
}

// check returns every reason why there can be no such service here.
func (s System) check() error {
	var faults []string
	switch {
	case s.OS == "linux" && !s.Has("/run/systemd/system"):
		faults = append(faults, "systemd does not run this machine; the folder deploy has its units, for other managers to follow")
	case s.OS == "darwin" && !s.User:
		faults = append(faults, "on macOS browsers run in a person's session: use --user")
	case s.OS == "windows" && s.User:
		faults = append(faults, "on Windows services are the system's: use --system, as an administrator")
	case s.OS != "linux" && s.OS != "darwin" && s.OS != "windows":
		faults = append(faults, "services are known on Linux, macOS and Windows")
	}
	if !s.User && !s.Root {
		faults = append(faults, "only root, or an administrator, changes the system's services: use sudo, or --user")
	}
	if s.OS == "linux" {
		faults = append(faults, s.unfitProgram()...)
	}
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "\n"))
	}
	return nil
}

// unfitProgram says why a unit cannot name this binary.
func (s System) unfitProgram() (faults []string) {
	if !s.User {
		for _, closed := range []string{"home", "root", "run/user", "tmp", "var/tmp"} { // ProtectHome=, PrivateTmp= (systemd.exec(5))
			if closed = "/" + closed + "/"; strings.HasPrefix(s.Program, closed) {
				faults = append(faults, "the service does not see "+closed+": first `install -m 755 "+s.Program+
					" /usr/local/bin/warren`, then use that")
			}
		}
	}
	if strings.ContainsAny(s.Program, " \t\n\"'%$\\") {
		faults = append(faults, fmt.Sprintf("the binary's path %q has characters that units give a meaning: move it", s.Program))
	}
	return faults
}

// packagedUnit reports whether a package brought the unit.
func (s System) packagedUnit() bool { return s.Has("/usr/lib/systemd/system/warren.service") }

func (s System) userUnit() string    { return s.Config + "/systemd/user/warren.service" }
func (s System) launchAgent() string { return s.Home + "/Library/LaunchAgents/warren.plist" }

// text is a file of the folder deploy with this binary's path.
func (s System) text(name string) string {
	return "# Written by " + mark + ".\n" + strings.NewReplacer(packaged, s.Program, confined, s.Program).Replace(s.Files[name])
}

// plist is the launch agent with this binary's path.
func (s System) plist() string {
	log := s.Home + "/Library/Logs/warren.log"
	return strings.NewReplacer(packaged, escaped(s.Program), "@LOG@", escaped(log)).Replace(s.Files["warren.plist"])
}

// escaped is a text inside of XML.
func escaped(text string) string {
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(text)) //nolint:errcheck // a buffer takes all
	return b.String()
}

// windows is a service of an account of its own, which has no password (sc.exe create, "virtual accounts"). Only that account and
// administrators get into its folder.
func (s System) windows() []Step {
	data := s.Data
	run := `"` + s.Program + `" --config "` + data + `\config.toml" serve --data "` + data + `\data"`
	return []Step{
		{Say: "the service", Command: []string{"sc.exe", "create", "warren", "binPath=", run, "start=", "delayed-auto",
			"obj=", `NT SERVICE\warren`, "DisplayName=", "Warren"}},
		{Say: "what it is", Command: []string{"sc.exe", "description", "warren", "Browser profiles, each behind its proxy"}},
		{Say: "start it again when it dies", Command: []string{"sc.exe", "failure", "warren", "reset=", "86400",
			"actions=", "restart/1000"}},
		{Say: "its folder's configuration", Write: data + `\config.toml`, Once: true,
			Text: "# Written by " + mark + ": the flags of `warren serve` may stand here.\n"},
		{Say: "its folder is its own", Command: []string{"icacls.exe", data, "/inheritance:r",
			"/grant", `NT SERVICE\warren:(OI)(CI)F`, "/grant", "*S-1-5-32-544:(OI)(CI)F", "/grant", "*S-1-5-18:(OI)(CI)F"}},
		{Say: "start it", Command: []string{"sc.exe", "start", "warren"}},
	}
}
