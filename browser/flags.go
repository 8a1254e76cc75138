package browser

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// This file decides what Chrome is given. The list is fixed: the only values in it are the two folders' paths and the relay's address.
// Nothing that a user of the API types ever gets here; start pages are opened over DevTools.

// Arguments returns Chrome's command line without the program: what it would get, or, once it was launched, what it has. On Windows the handles of --remote-debugging-io-pipes come on top at the start.
// The flags are those of Chromium's own switch lists (chrome_switches.cc, headless_switches, network_switches, content_switches).
func (b *Browser) Arguments() []string {
	if p := b.process(); p != nil {
		return slices.Clone(p.cmd.Args[1:])
	}
	args := []string{
		"--user-data-dir=" + b.spec.UserDataDir,
		"--profile-directory=" + profileFolder, // whichever of its profiles a person opened last: this one alone is prepared
		"--remote-debugging-pipe",
	}
	args = append(args, networkFlags(b.Listener().Addr(), b.spec.WebRTC)...)
	args = append(args, quietFlags()...)
	args = append(args, sharedMemoryFlags()...)
	args = append(args, "--restore-last-session", "--hide-crash-restore-bubble")
	if b.spec.Headless {
		args = append(args, "--headless=new")
	}
	args = append(args, b.emulation.flags()...)
	if b.spec.TrustSPKI != "" {
		args = append(args, "--ignore-certificate-errors-spki-list="+b.spec.TrustSPKI)
	}
	if !hasSession(b.spec.UserDataDir) {
		args = append(args, BlankPage)
	}
	return args
}

// profileFolder is the one of the Chrome profiles in a user-data folder that a run uses.
const profileFolder = "Default"

// networkFlags keep every byte on the relay: names are not resolved here (also when an extension sets another proxy: then nothing works
// at all), loopback and link-local go through the relay too, WebRTC opens no UDP. Measured: with these no packet leaves beside the relay.
//
// With WebRTCDefault, WebRTC is as Chrome has it, and looks up the names of its servers itself.
func networkFlags(relay net.Addr, webrtc WebRTC) []string {
	host, _, _ := net.SplitHostPort(relay.String())
	off := "MediaRouter,DialMediaRouteProvider,OptimizationHints,NetworkTimeServiceQuerying,Translate,AutofillServerCommunication"
	flags := []string{
		"--proxy-server=socks5://" + relay.String(),
		"--proxy-bypass-list=<-loopback>",
	}
	if webrtc != WebRTCDefault {
		off = "WebRtcHideLocalIpsWithMdns," + off
		flags = append(flags,
			"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE "+host,
			"--webrtc-ip-handling-policy="+webrtcPolicy,
			"--force-webrtc-ip-handling-policy="+webrtcPolicy, // the same in older versions
		)
	}
	return append(flags, "--disable-features="+off) // one list only: a second one would replace the first
}

// quietFlags stop what Chrome does by itself: its own traffic, questions at the first start, the system's key ring.
func quietFlags() []string {
	flags := []string{
		"--disable-background-networking",
		"--disable-component-update",
		// What the flag above leaves still asks for updates, at the start and after a minute. It asks here: a port that Chrome itself refuses
		// (components/component_updater/component_updater_command_line_config_policy.cc; net/base/port_util.cc).
		"--component-updater=url-source=https://127.0.0.1:9/",
		"--disable-domain-reliability",
		"--disable-sync",
		"--no-pings",
		"--disable-breakpad",
		"--no-first-run",
		"--no-default-browser-check",
		"--disable-search-engine-choice-screen",
	}
	if runtime.GOOS == "linux" {
		flags = append(flags, "--password-store=basic")
	}
	return flags
}

// hasSession reports whether the profile has tabs to restore. Chrome opens a page of the command line beside the restored
// tabs, so that a blank one would be added at every start.
func hasSession(userDataDir string) bool {
	found, _ := fs.Glob(os.DirFS(userDataDir), profileFolder+"/Sessions/Session_*") // the pattern is well formed
	return len(found) > 0
}

// Environment returns the environment that Chrome is given, as "KEY=value". Only what a browser needs is passed on:
// our own environment may hold secrets.
func (b *Browser) Environment() []string {
	var env []string
	for _, entry := range os.Environ() {
		if key, _, ok := strings.Cut(entry, "="); ok && passedOn(key) {
			env = append(env, entry)
		}
	}
	for _, key := range tempVariables() {
		env = setVariable(env, key+"="+b.spec.TempDir)
	}
	if b.spec.HomeDir != "" && runtime.GOOS == "linux" {
		env = ownHome(env, b.spec.HomeDir)
	}
	env = withoutPrograms(env, b.spec.TempDir)
	env = b.emulation.environment(env)
	for _, entry := range b.spec.ExtraEnv {
		env = setVariable(env, entry)
	}
	slices.Sort(env)
	return env
}

// programsFolder is where a run's stand-ins lie, below its temporary folder.
const programsFolder = "programs"

// withoutPrograms puts the run's own stand-ins before the programs that Chrome starts on Linux at a page's wish (standIns).
func withoutPrograms(env []string, temp string) []string {
	if runtime.GOOS != "linux" {
		return env
	}
	path := "/usr/local/bin:/usr/bin:/bin"
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok && v != "" {
			path = v
		}
	}
	return setVariable(env, "PATH="+filepath.Join(temp, programsFolder)+":"+path)
}

// standIns are the programs that Chrome does not start: that for mailto: addresses, which no page has to ask for (chrome/browser/external_protocol,
// GetBlockState), and where nobody sees a question that for all others. They would run beside the proxy. Which they are: chrome/browser/platform_util_linux.cc.
func standIns(headless bool) []string {
	if headless {
		return []string{"xdg-email", "xdg-open"}
	}
	return []string{"xdg-email"}
}

// writeStandIns writes programs that do nothing.
func writeStandIns(s *Spec) error {
	if runtime.GOOS != "linux" {
		return nil
	}
	dir := filepath.Join(s.TempDir, programsFolder)
	err := os.Mkdir(dir, 0o700)
	for _, name := range standIns(s.Headless) {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nexit 0\n"), 0o700) //nolint:gosec // it is to be executed
		}
	}
	return err
}

// ownHome has a browser and its libraries keep caches, settings and data below dir, and find the user's own fonts, themes and settings where they are
// (XDG Base Directory Specification).
func ownHome(env []string, dir string) []string {
	value := func(key, otherwise string) string {
		for _, e := range env {
			if v, ok := strings.CutPrefix(e, key+"="); ok && v != "" {
				return v
			}
		}
		return otherwise
	}
	home := value("HOME", "/")
	data := value("XDG_DATA_HOME", filepath.Join(home, ".local", "share")) + ":" + value("XDG_DATA_DIRS", "/usr/local/share:/usr/share")
	config := value("XDG_CONFIG_HOME", filepath.Join(home, ".config")) + ":" + value("XDG_CONFIG_DIRS", "/etc/xdg")
	for key, v := range map[string]string{"XDG_DATA_DIRS": data, "XDG_CONFIG_DIRS": config, "XDG_CACHE_HOME": filepath.Join(dir, "cache"),
		"XDG_CONFIG_HOME": filepath.Join(dir, "config"), "XDG_DATA_HOME": filepath.Join(dir, "data"), "XDG_STATE_HOME": filepath.Join(dir, "state")} {
		env = setVariable(env, key+"="+v)
	}
	return env
}

// setVariable adds entry and removes what was there under its key.
func setVariable(env []string, entry string) []string {
	key, _, _ := strings.Cut(entry, "=")
	return append(unsetVariable(env, key), entry)
}

func unsetVariable(env []string, key string) []string {
	return slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, key+"=") })
}

// tempVariables are the names under which programs of this platform look for the folder for temporary files. Crash dumps hold
// memory of pages: they go there too, rather than into the user's home.
func tempVariables() []string {
	switch runtime.GOOS {
	case "windows":
		return []string{"TEMP", "TMP"}
	case "darwin":
		return []string{"TMPDIR", "MAC_CHROMIUM_TMPDIR", "BREAKPAD_DUMP_LOCATION"}
	}
	return []string{"TMPDIR", "BREAKPAD_DUMP_LOCATION"}
}

// passedOn reports whether a browser needs the variable: who and where the user is, display, sound, graphics, fonts, language, and Windows' own.
// Proxies and key logs (http_proxy, SSLKEYLOGFILE) are left out on purpose.
func passedOn(key string) bool {
	key = strings.ToUpper(key)
	names := []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TZ", "LANG", "LANGUAGE", "DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS",
		"DESKTOP_SESSION", "LD_LIBRARY_PATH", "__CF_USER_TEXT_ENCODING",
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "OS", "NUMBER_OF_PROCESSORS", "USERPROFILE", "USERNAME", "USERDOMAIN",
		"HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "ALLUSERSPROFILE", "PROGRAMDATA", "PUBLIC", "COMPUTERNAME", "SESSIONNAME",
	}
	prefixes := []string{
		"LC_", "XDG_", "WAYLAND_", "FONTCONFIG_", "GTK_", "GDK_", "QT_", "PULSE_", "PIPEWIRE_", "ALSA_", "LIBGL_", "LIBVA_", "MESA_", "DRI_", "VK_",
		"PROGRAMFILES", "COMMONPROGRAM", "PROCESSOR_",
	}
	return slices.Contains(names, key) || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}
