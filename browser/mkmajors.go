//go:build ignore

// mkmajors writes majors.txt: the newest known build of each Chrome major. Its arguments are the table, and a file or URL to read. It
// understands Chrome for Testing's latest-versions-per-milestone.json. It also understands electron-to-chromium's
// full-chromium-versions.json (https://www.npmjs.com/package/electron-to-chromium), an object whose keys are versions.
//
// Existing lines stay: a source rarely knows every major, and a lower build never replaces a higher one.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const milestones = "https://googlechromelabs.github.io/chrome-for-testing/latest-versions-per-milestone.json"

type version [4]int

func main() {
	log.SetFlags(0)
	given := append(os.Args[1:], "", "")
	table, source := cmp.Or(given[0], "majors.txt"), cmp.Or(given[1], milestones)
	best := map[int]version{}
	old, err := os.ReadFile(table)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Fatal(err)
	}
	for line := range strings.Lines(string(old)) {
		_, build, _ := strings.Cut(strings.TrimSpace(line), " ")
		keep(best, build)
	}
	text, err := read(source)
	if err != nil {
		log.Fatal(err)
	}
	n := 0
	for _, v := range versions(text) {
		if keep(best, v) {
			n++
		}
	}
	if n == 0 {
		log.Fatalf("%s has no versions in a shape that is known", source)
	}
	var out strings.Builder
	for _, major := range slices.Sorted(maps.Keys(best)) {
		v := best[major]
		fmt.Fprintf(&out, "%d %d.%d.%d.%d\n", major, v[0], v[1], v[2], v[3])
	}
	if err := os.WriteFile(table, []byte(out.String()), 0o644); err != nil {
		log.Fatal(err)
	}
}

func read(source string) ([]byte, error) {
	if !strings.HasPrefix(source, "https://") && !strings.HasPrefix(source, "http://") {
		return os.ReadFile(source)
	}
	res, err := http.Get(source)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", source, res.Status)
	}
	return io.ReadAll(io.LimitReader(res.Body, 64<<20))
}

// versions returns the versions of either format.
func versions(text []byte) (out []string) {
	var perMilestone struct {
		Milestones map[string]struct{ Version string }
	}
	if json.Unmarshal(text, &perMilestone) == nil && len(perMilestone.Milestones) > 0 {
		for _, m := range perMilestone.Milestones {
			out = append(out, m.Version)
		}
		return out
	}
	var byVersion map[string]json.RawMessage
	if err := json.Unmarshal(text, &byVersion); err != nil {
		log.Fatal(err)
	}
	return slices.Collect(maps.Keys(byVersion))
}

// keep stores a version if it is the highest of its major. It reports whether text is a version.
func keep(best map[int]version, text string) bool {
	if !regexp.MustCompile(`^\d{1,5}(\.\d{1,5}){3}$`).MatchString(text) {
		return false
	}
	var v version
	for i, part := range strings.Split(text, ".") {
		v[i], _ = strconv.Atoi(part)
	}
	if have, ok := best[v[0]]; !ok || slices.Compare(v[:], have[:]) > 0 {
		best[v[0]] = v
	}
	return true
}
