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
		// Ubuntu from 23.10 on. The sysctl applies to every program, the profile to this one only.
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", appArmorAdvice(deployed("apparmor-warren"))},
	} {
		if b, err := os.ReadFile(s.file); err == nil && strings.TrimSpace(string(b)) == s.forbids {
			return s.mend
		}
	}
	if inContainer() {
		return "let the container make user namespaces: " + seccompAdvice(deployed("seccomp.json"))
	}
	return "allow this user to make user namespaces: `unshare --user --net true` says what stands in the way"
}

// mountAdvice returns what lets a run have a mount namespace where it has the others.
func mountAdvice() string {
	if inContainer() {
		return "let the container mount inside of user namespaces: " +
			seccompAdvice(deployed("seccomp.json"), "--security-opt apparmor=unconfined")
	}
	return "let warren mount inside of its own user namespaces: `unshare --user --map-root-user --mount mount -t tmpfs none /mnt` says " +
		"what stands in the way"
}

// deployed returns where a file of deploy/ lies on this machine, "" if nowhere. Archives and the repository have it beside the program,
// packages and the image in /usr/share/warren.
func deployed(name string) string {
	folders := []string{"/usr/share/warren"}
	if exe, err := os.Executable(); err == nil {
		folders = append([]string{filepath.Join(filepath.Dir(exe), "deploy")}, folders...)
	}
	for _, dir := range folders {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// appArmorAdvice says how to load the profile, which lies in a file. Without a file, install-service has its text.
func appArmorAdvice(file string) string {
	load := "sudo warren install-service, which loads a profile for this program"
	if file != "" {
		load = "sudo cp " + file + " /etc/apparmor.d/warren && sudo apparmor_parser -r /etc/apparmor.d/warren"
	}
	return load + " (or, for every program, sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0)"
}

// seccompAdvice says how to run a container with the filter, which lies in a file of the container. Docker reads it outside.
func seccompAdvice(file string, more ...string) string {
	from := "take deploy/seccomp.json out of Warren's archive"
	if file != "" {
		from = "docker run --rm --entrypoint cat IMAGE " + file + " >seccomp.json"
	}
	return from + "; docker run --security-opt seccomp=seccomp.json " + strings.Join(append(more, "…"), " ")
}

// inContainer reports whether this looks like a container, by the marks of Docker, Podman and systemd (os-release and container interface).
// Warren's image, like others, sets the variable of that interface itself.
func inContainer() bool {
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv", "/run/systemd/container"} {
		if _, err := os.Stat(mark); err == nil {
			return true
		}
	}
	return os.Getenv("container") != ""
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
