package browser

import (
	_ "embed"
	"strconv"
	"strings"
)

// majorsTable has a line per Chrome major: the major, a space, the newest build of it that is known. `make majors` writes it.
//
//go:embed majors.txt
var majorsTable string

// buildOf returns a real build of a Chrome major, as four numbers: "124.0.6367.243" for 124. For a major that the table lacks it returns
// "N.0.0.0", the form of Chrome's reduced user agent.
func buildOf(major int) string {
	prefix := strconv.Itoa(major) + " "
	for line := range strings.Lines(majorsTable) {
		if build, ok := strings.CutPrefix(line, prefix); ok {
			return strings.TrimSpace(build)
		}
	}
	return strconv.Itoa(major) + ".0.0.0"
}

// ParseVersion parses four numbers separated by dots.
func ParseVersion(version string) (v [4]int, ok bool) {
	parts := strings.Split(version, ".")
	if len(parts) != len(v) {
		return v, false
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return v, false
		}
		v[i] = int(n)
	}
	return v, true
}
