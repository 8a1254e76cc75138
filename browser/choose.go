package browser

import (
	"slices"
	"strings"
)

// Choose picks the browser that runs a profile which declares a major version; 0 declares none. have[0] is the default browser, which
// runs all that declare none. Else the one of that very major is taken (exact), else the nearest newer, else the newest: a newer browser
// can be told to show an older version, and keeps what the older one left in a profile.
//
// Of several builds of one major the default browser comes first, then those of its product, then Chromium and Chrome, which add
// nothing of their own as Edge and Brave do; of one product the highest build. have must not be empty.
func Choose(have []Installed, major int) (chosen Installed, exact bool) {
	if major == 0 || have[0].Major == major {
		return have[0], true
	}
	best := have[0]
	for _, b := range have[1:] {
		if closer(b, best, major, have[0]) {
			best = b
		}
	}
	return best, best.Major == major
}

// closer says whether b serves a profile of that major better than best does.
func closer(b, best Installed, major int, standard Installed) bool {
	if b.Major == best.Major {
		if best == standard {
			return false
		}
		if x, y := kinship(b, standard), kinship(best, standard); x != y {
			return x < y
		}
		return newer(b.Version, best.Version)
	}
	if old := best.Major < major; old || b.Major < major {
		return old && b.Major > best.Major // too old is only the best where nothing is newer: then the newest
	}
	return b.Major < best.Major
}

// kinship ranks a product beside the default one: 0 the same, 1 Chromium or Chrome, 2 another. Builds of several products are not to be
// compared: Brave counts its own (141.1.83.109).
func kinship(b, standard Installed) int {
	switch {
	case b.Product == standard.Product:
		return 0
	case strings.HasPrefix(b.Product, "Chromium"), strings.HasPrefix(b.Product, "Google Chrome"):
		return 1
	}
	return 2
}

// newer compares two versions of four numbers; what is none is older than any.
func newer(a, b string) bool {
	x, _ := versionNumbers(a)
	y, _ := versionNumbers(b)
	return slices.Compare(x[:], y[:]) > 0
}
