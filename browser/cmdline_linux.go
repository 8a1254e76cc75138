package browser

import (
	"os"
	"strconv"
	"strings"
)

// commandLine returns a process' arguments, nil if it has gone. Chrome may have replaced the NULs between its arguments by spaces. Then a
// path is found only if it contains no space.
func commandLine(pid int) []string {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil
	}
	return strings.FieldsFunc(string(raw), func(r rune) bool { return r == 0 })
}
