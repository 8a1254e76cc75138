package identity

import (
	"runtime"
	"strings"
)

// System maps the names of a system that are taken to the one that is kept: win, mac or linux.
func System(name string) (string, bool) {
	switch strings.ToLower(name) {
	case "win", "windows":
		return "win", true
	case "mac", "macos", "darwin":
		return "mac", true
	case "linux", "lin":
		return "linux", true
	}
	return "", false
}

// HostSystem is this machine's system in the words of a profile. What is neither Windows nor macOS counts as linux.
func HostSystem() string {
	if n, ok := System(runtime.GOOS); ok {
		return n
	}
	return "linux"
}
