package builds

import (
	"slices"
	"strings"

	"warren/browser"
)

// Choose picks the browser that runs a profile of a declared major version; 0: none is declared. have must not be empty. have[0] is the
// default browser, which runs every profile without a declaration.
//
// The same major is best (exact), then the nearest newer one, then the newest. A newer browser can present itself as an older version, and
// it can read what the older one stored in the profile.
//
// Among builds of one major the default browser comes first. Then come builds of the same product, then Chromium and Chrome, which add
// nothing of their own as Edge and Brave do. Within a product the highest build number wins.
func Choose(have []browser.Installed, major int) (chosen browser.Installed, exact bool) {
	if major == 0 || have[0].Major == major {
		return have[0], true
	}
	best := have[0]
	for _, b := range have[1:] {
		if isBetter(b, best, major, have[0]) {
			best = b
		}
	}
	return best, best.Major == major
}

// isBetter reports whether b suits a profile of that major better than best.
func isBetter(b, best browser.Installed, major int, standard browser.Installed) bool {
	if b.Major == best.Major {
		if best == standard {
			return false
		}
		if x, y := preference(b, standard), preference(best, standard); x != y {
			return x < y
		}
		return newer(b.Version, best.Version)
	}
	if old := best.Major < major; old || b.Major < major {
		return old && b.Major > best.Major // an older browser wins only where none is newer; then the newest does
	}
	return b.Major < best.Major
}

// preference ranks a product against the default browser's: 0 the same, 1 Chromium or Chrome, 2 any other. Build numbers of different
// products cannot be compared: Brave has its own (141.1.83.109).
func preference(b, standard browser.Installed) int {
	switch {
	case b.Product == standard.Product:
		return 0
	case strings.HasPrefix(b.Product, "Chromium"), strings.HasPrefix(b.Product, "Google Chrome"):
		return 1
	}
	return 2
}

// newer reports whether version a is higher than b. A string that is no version counts as 0.0.0.0.
func newer(a, b string) bool {
	x, _ := browser.ParseVersion(a)
	y, _ := browser.ParseVersion(b)
	return slices.Compare(x[:], y[:]) > 0
}
