package browser

import "testing"

func TestInstallHint(t *testing.T) {
	for _, c := range []struct {
		release string
		root    bool
		want    string
	}{
		{"ID=debian\n", true, "Install it with: apt-get install -y chromium"},
		{"NAME=x\nID=ubuntu\nID_LIKE=debian\n", false, "Install it with: sudo apt-get install -y chromium-browser"},
		{"ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", false, "Install it with: sudo apt-get install -y chromium-browser"},
		{"ID=fedora", false, "Install it with: sudo dnf install -y chromium"},
		{`ID="rocky"` + "\n" + `ID_LIKE="rhel centos fedora"`, true, "Install it with: dnf install -y chromium (from EPEL)"},
		{"ID=arch", true, "Install it with: pacman -S --noconfirm chromium"},
		{"ID=alpine", true, "Install it with: apk add chromium"},
		{`ID="opensuse-tumbleweed"` + "\n" + `ID_LIKE="opensuse suse"`, true, "Install it with: zypper install -y chromium"},
		{"ID=unheard", true, "Install Chromium with this system's package manager, or give the browser's path."},
		{"", false, "Install Chromium with this system's package manager, or give the browser's path."},
	} {
		if got := hintFor(c.release, c.root); got != c.want {
			t.Errorf("%q: got %q, want %q", c.release, got, c.want)
		}
	}
}
