package browser

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// ownHome moves caches, settings and data of a browser and its libraries below dir. They still find the user's own fonts, themes and
// settings (XDG Base Directory Specification).
func ownHome(env []string, dir string) []string {
	home := variable(env, "HOME", "/")
	data := variable(env, "XDG_DATA_HOME", filepath.Join(home, ".local", "share")) + ":" +
		variable(env, "XDG_DATA_DIRS", "/usr/local/share:/usr/share")
	config := variable(env, "XDG_CONFIG_HOME", filepath.Join(home, ".config")) + ":" + variable(env, "XDG_CONFIG_DIRS", "/etc/xdg")
	for key, v := range map[string]string{"XDG_DATA_DIRS": data, "XDG_CONFIG_DIRS": config, "XDG_CACHE_HOME": filepath.Join(dir, "cache"),
		"XDG_CONFIG_HOME": filepath.Join(dir, "config"), "XDG_DATA_HOME": filepath.Join(dir, "data"),
		"XDG_STATE_HOME": filepath.Join(dir, "state")} {
		env = setVariable(env, key+"="+v)
	}
	return env
}

// variable returns the value of a variable in env, or otherwise if it is missing or empty.
func variable(env []string, key, otherwise string) string {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, key+"="); ok && v != "" {
			return v
		}
	}
	return otherwise
}

// setVariable sets entry, "KEY=value", in env.
func setVariable(env []string, entry string) []string {
	key, _, _ := strings.Cut(entry, "=")
	return append(unsetVariable(env, key), entry)
}

func unsetVariable(env []string, key string) []string {
	return slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, key+"=") })
}

// tempVariables are the variables for the folder of temporary files on this platform. Crash dumps go there too, not into the user's home,
// since they contain pages' memory.
func tempVariables() []string {
	switch runtime.GOOS {
	case "windows":
		return []string{"TEMP", "TMP"}
	case "darwin":
		return []string{"TMPDIR", "MAC_CHROMIUM_TMPDIR", "BREAKPAD_DUMP_LOCATION"}
	}
	return []string{"TMPDIR", "BREAKPAD_DUMP_LOCATION"}
}

// passedOn reports whether a browser needs a variable: user, display, sound, graphics, fonts, language, and Windows' own. Proxies and key
// logs (http_proxy, SSLKEYLOGFILE) are left out on purpose.
func passedOn(key string) bool {
	key = strings.ToUpper(key)
	names := []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TZ", "LANG", "LANGUAGE", "DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS",
		"DESKTOP_SESSION", "LD_LIBRARY_PATH", "__CF_USER_TEXT_ENCODING",
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "OS", "NUMBER_OF_PROCESSORS", "USERPROFILE", "USERNAME", "USERDOMAIN",
		"HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "ALLUSERSPROFILE", "PROGRAMDATA", "PUBLIC", "COMPUTERNAME", "SESSIONNAME",
	}
	prefixes := []string{
		"LC_", "XDG_", "WAYLAND_", "FONTCONFIG_", "GTK_", "GDK_", "QT_", "PULSE_", "PIPEWIRE_", "ALSA_", "LIBGL_", "LIBVA_", "MESA_",
		"DRI_", "VK_",
		"PROGRAMFILES", "COMMONPROGRAM", "PROCESSOR_",
	}
	return slices.Contains(names, key) || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

// programsFolder is the folder of stand-ins below a run's temporary folder.
const programsFolder = "programs"

// withoutPrograms puts the run's stand-ins (writeStandIns) first on PATH, before the programs that Chrome starts on Linux at a page's
// request.
func withoutPrograms(env []string, temp string) []string {
	if runtime.GOOS != "linux" {
		return env
	}
	path := variable(env, "PATH", "/usr/local/bin:/usr/bin:/bin")
	return setVariable(env, "PATH="+filepath.Join(temp, programsFolder)+":"+path)
}

// writeStandIns writes programs that do nothing, in place of those that would run beside the proxy (chrome/browser/platform_util_linux.cc).
// A page may open mailto: addresses without a question (chrome/browser/external_protocol, GetBlockState). Without windows nobody sees the
// question for other addresses.
func writeStandIns(s *Spec) error {
	if runtime.GOOS != "linux" {
		return nil
	}
	dir := filepath.Join(s.TempDir, programsFolder)
	names := []string{"xdg-email"}
	if s.Headless {
		names = append(names, "xdg-open")
	}
	err := os.Mkdir(dir, 0o700)
	for _, name := range names {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nexit 0\n"), 0o700) //nolint:gosec // it must be executable
		}
	}
	return err
}
