package identity

import (
	"runtime"
	"strings"
)

// System maps the accepted names of a system to the stored one: win, mac or linux.
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

// HostSystem returns this machine's system as a profile names it. Systems other than Windows and macOS count as linux.
func HostSystem() string {
	if n, ok := System(runtime.GOOS); ok {
		return n
	}
	return "linux"
}
