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

// buildOf returns a real build of a Chrome major, as four numbers: 124 gives "124.0.6367.243". Of a major that the table lacks nobody
// knows the build number: then it is "N.0.0.0", as Chrome's own reduced user agent has it.
func buildOf(major int) string {
	prefix := strconv.Itoa(major) + " "
	for line := range strings.Lines(majorsTable) {
		if build, ok := strings.CutPrefix(line, prefix); ok {
			return strings.TrimSpace(build)
		}
	}
	return strconv.Itoa(major) + ".0.0.0"
}

// ParseVersion reads four numbers with dots between them.
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
