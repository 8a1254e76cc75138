package builds

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"warren/browser"
)

func build(product, version string) browser.Installed {
	v, _ := browser.ParseVersion(version)
	return browser.Installed{Path: "/opt/" + product + "/" + version, Product: product, Version: version, Major: v[0]}
}

func TestChoose(t *testing.T) {
	debian := build("Chromium", "156.0.8078.79")
	have := []browser.Installed{debian,
		build("Google Chrome for Testing", "124.0.6367.9"), build("Google Chrome for Testing", "124.0.6367.207"),
		build("Brave Browser", "124.1.65.130"),
		build("Microsoft Edge", "130.0.2849.46"), build("Google Chrome", "130.0.6723.58"),
		build("Google Chrome", "156.0.8078.100"), build("Chromium", "150.0.7871.100"), build("Chromium", "159.0.8150.1"),
	}
	for major, want := range map[int]string{
		0:   "156.0.8078.79",
		156: "156.0.8078.79",  // the default one, though another build is higher
		124: "124.0.6367.207", // by number, not text; not Brave, whose numbers are its own
		130: "130.0.6723.58",
		150: "150.0.7871.100",
		99:  "124.0.6367.207", // the nearest newer
		125: "130.0.6723.58",
		151: "156.0.8078.79",
		157: "159.0.8150.1",
		160: "159.0.8150.1", // none is newer: the newest
		999: "159.0.8150.1",
	} {
		got, exact := Choose(have, major)
		if got.Version != want || exact != (major == 0 || got.Major == major) {
			t.Errorf("%d: %s %s, exact %v; want %s", major, got.Product, got.Version, exact, want)
		}
	}
	chrome := slices.Concat([]browser.Installed{build("Microsoft Edge", "156.0.1.1")}, have[1:])
	if got, _ := Choose(chrome, 130); got.Product != "Microsoft Edge" {
		t.Errorf("where Edge is the default: %+v", got)
	}
}

// TestChooseProperties: the rules hold for any set of builds, and the order of the others does not affect the chosen major.
func TestChooseProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		have := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) browser.Installed {
			return build(rapid.SampledFrom([]string{"Chromium", "Google Chrome", "Brave Browser"}).Draw(t, "product"),
				fmt.Sprintf("%d.0.%d.%d", rapid.IntRange(1, 12).Draw(t, "major"), rapid.IntRange(0, 12).Draw(t, "build"),
					rapid.IntRange(0, 12).Draw(t, "patch")))
		}), 1, 8).Draw(t, "have")
		major := rapid.IntRange(0, 14).Draw(t, "declared")
		got, exact := Choose(have, major)
		if !slices.Contains(have, got) {
			t.Fatalf("%+v is not among them", got)
		}
		want := have[0].Major
		if major > 0 {
			majors := []int{}
			for _, b := range have {
				majors = append(majors, b.Major)
			}
			slices.Sort(majors)
			if i := slices.IndexFunc(majors, func(m int) bool { return m >= major }); i >= 0 {
				want = majors[i]
			} else {
				want = majors[len(majors)-1]
			}
		}
		if got.Major != want || exact != (major == 0 || want == major) {
			t.Fatalf("%d of %+v: %d, exact %v; want %d", major, have, got.Major, exact, want)
		}
		if want == have[0].Major && got != have[0] {
			t.Fatalf("%d of %+v: %+v, not the default one", major, have, got)
		}
		rest := rapid.Permutation(have[1:]).Draw(t, "rest")
		if again, same := Choose(append([]browser.Installed{have[0]}, rest...), major); again.Major != got.Major ||
			again.Version != got.Version && again.Product == got.Product || same != exact {
			t.Fatalf("in another order: %+v, not %+v", again, got)
		}
	})
}
