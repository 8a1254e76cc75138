package browser

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// namespaceAdvice returns what prevents namespaces on this machine, and the command that helps.
func namespaceAdvice() string {
	for _, s := range []struct{ file, forbids, mend string }{
		// Debian and Arch.
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"},
		// user_namespaces(7), namespaces(7)
		{"/proc/sys/user/max_user_namespaces", "0", "sudo sysctl -w user.max_user_namespaces=15000"},
		{"/proc/sys/user/max_net_namespaces", "0", "sudo sysctl -w user.max_net_namespaces=15000"},
		// Ubuntu from 23.10 on. The sysctl applies to every program, the profile (deploy/apparmor-warren) to this one only.
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "sudo cp deploy/apparmor-warren /etc/apparmor.d/warren && sudo " +
			"apparmor_parser -r /etc/apparmor.d/warren (or, for every program, sudo sysctl -w " +
			"kernel.apparmor_restrict_unprivileged_userns=0)"},
	} {
		if b, err := os.ReadFile(s.file); err == nil && strings.TrimSpace(string(b)) == s.forbids {
			return s.mend
		}
	}
	if inContainer() {
		return "run the container with deploy/seccomp.json, which allows user namespaces: docker run --security-opt " +
			"seccomp=deploy/seccomp.json …"
	}
	return "allow this user to make user namespaces: `unshare --user --net true` says what stands in the way"
}

// mountAdvice returns what lets a run have a mount namespace where it has the others.
func mountAdvice() string {
	if inContainer() {
		return "let the container mount inside of user namespaces: docker run --security-opt seccomp=deploy/seccomp.json --security-opt " +
			"apparmor=unconfined …"
	}
	return "let warren mount inside of its own user namespaces: `unshare --user --map-root-user --mount mount -t tmpfs none /mnt` says " +
		"what stands in the way"
}

// inContainer reports whether this looks like a container, by the marks of Docker, Podman and systemd (os-release and container interface).
func inContainer() bool {
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv", "/run/systemd/container"} {
		if _, err := os.Stat(mark); err == nil {
			return true
		}
	}
	return false
}

// isSnap reports whether a program is a snap. Its launcher needs to become root, which a namespace prevents. Ubuntu's chromium-browser is a
// script around a snap.
func isSnap(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	if strings.HasPrefix(real, "/snap/") || real == "/usr/bin/snap" {
		return true
	}
	head := headOf(real, 4<<10)
	return bytes.HasPrefix(head, []byte("#!")) && bytes.Contains(head, []byte("/snap/bin/"))
}
