package browser

import (
	"os"
	"strings"
)

// UsualPlaces returns where distributions and vendors install browsers outside of PATH.
func UsualPlaces() []string {
	return []string{
		"/usr/lib/chromium/chromium", "/usr/lib64/chromium-browser/chromium-browser", "/usr/lib/chromium-browser/chromium-browser",
		"/opt/google/chrome/chrome", "/opt/microsoft/msedge/msedge", "/opt/brave.com/brave/brave", "/opt/chromium.org/chromium/chromium",
		"/snap/bin/chromium",
	}
}

// program returns path: only macOS has bundles.
func program(path string) string { return path }

// installHint returns the command that installs Chromium on this distribution (os-release(5)).
func installHint() string {
	text, err := os.ReadFile("/etc/os-release")
	if err != nil {
		text, _ = os.ReadFile("/usr/lib/os-release")
	}
	return hintFor(string(text), os.Geteuid() == 0)
}

func hintFor(release string, root bool) string {
	for _, id := range distribution(release) {
		switch command := installCommands()[id]; {
		case command == "":
		case root:
			return "Install it with: " + command
		default:
			return "Install it with: sudo " + command
		}
	}
	return "Install Chromium with this system's package manager, or give the browser's path."
}

// distribution returns the system's id, then the ids that it resembles.
func distribution(release string) []string {
	var id, like string
	for line := range strings.Lines(release) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.Trim(value, `"'`)
		switch key {
		case "ID":
			id = value
		case "ID_LIKE":
			like = value
		}
	}
	return append([]string{id}, strings.Fields(like)...)
}

func installCommands() map[string]string {
	return map[string]string{
		"debian": "apt-get install -y chromium",
		"ubuntu": "apt-get install -y chromium-browser",
		"fedora": "dnf install -y chromium",
		"rhel":   "dnf install -y chromium (from EPEL)",
		"arch":   "pacman -S --noconfirm chromium",
		"alpine": "apk add chromium",
		"suse":   "zypper install -y chromium", "opensuse": "zypper install -y chromium",
		"void": "xbps-install -y chromium", "gentoo": "emerge www-client/chromium", "nixos": "nix-env -iA nixos.chromium",
	}
}
