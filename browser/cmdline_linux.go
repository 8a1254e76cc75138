package browser

import (
	"os"
	"strconv"
	"strings"
)

// commandLine returns a process' arguments, nil when it has gone. Chrome may write its own with spaces in place of the NULs; a
// folder of ours is then still found as long as its path has no space.
func commandLine(pid int) []string {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil
	}
	return strings.FieldsFunc(string(raw), func(r rune) bool { return r == 0 })
}
