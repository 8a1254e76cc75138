package browser

import (
	"cmp"
	_ "embed"
	"fmt"
	"runtime"
	"strconv"
	"strings"
)

// agent is how a browser identifies itself: the User-Agent header, navigator.platform and the client hints (CDP
// Emulation.setUserAgentOverride).
type agent struct {
	userAgent string
	platform  string // navigator.platform
	hints     hints
}

// hints are Emulation.UserAgentMetadata (CDP): the values of Sec-CH-UA headers and of navigator.userAgentData
// (https://wicg.github.io/ua-client-hints/).
type hints struct {
	Brands          []brand  `json:"brands"`
	FullVersionList []brand  `json:"fullVersionList"`
	FullVersion     string   `json:"fullVersion"`
	Platform        string   `json:"platform"`
	PlatformVersion string   `json:"platformVersion"`
	Architecture    string   `json:"architecture"`
	Bitness         string   `json:"bitness"`
	Model           string   `json:"model"`
	Mobile          bool     `json:"mobile"`
	Wow64           bool     `json:"wow64"`
	FormFactors     []string `json:"formFactors"`
}

type brand struct {
	Brand   string `json:"brand"`
	Version string `json:"version"`
}

// system is how a desktop Chrome identifies its operating system.
type system struct {
	token    string // within the User-Agent, frozen since Chrome 107 (https://www.chromium.org/updates/ua-reduction/)
	platform string // navigator.platform
	hint     string // Sec-CH-UA-Platform
	version  string // Sec-CH-UA-Platform-Version
	arch     string // Sec-CH-UA-Arch
}

// systemOf returns the system of a Chrome on os. The versions are Windows 11 (13 and above:
// https://learn.microsoft.com/microsoft-edge/web-platform/how-to-detect-win11) and macOS 14. Chromium on Linux has none.
func systemOf(os string) system {
	switch os {
	case "win":
		return system{"Windows NT 10.0; Win64; x64", "Win32", "Windows", "15.0.0", "x86"}
	case "mac":
		return system{"Macintosh; Intel Mac OS X 10_15_7", "MacIntel", "macOS", "14.6.1", "arm"}
	}
	return system{"X11; Linux x86_64", "Linux x86_64", "Linux", "", architecture(runtime.GOARCH)}
}

// architecture returns Sec-CH-UA-Arch of a Go architecture.
func architecture(goarch string) string {
	if strings.HasPrefix(goarch, "arm") {
		return "arm"
	}
	return "x86"
}

// HostOS returns this machine's system as Identity.OS names it.
func HostOS() string {
	switch runtime.GOOS {
	case "windows":
		return "win"
	case "darwin":
		return "mac"
	}
	return "linux"
}

// newAgent returns how the installed browser identifies itself, with system and major version of id. The product stays the installed one's:
// Chromium does not claim to be Chrome.
func newAgent(id Identity, installed Installed) agent {
	major, build := installed.Major, installed.Version
	if n, err := strconv.Atoi(id.Version); err == nil && n != installed.Major {
		major, build = n, buildOf(n)
	}
	sys := systemOf(cmp.Or(id.OS, HostOS()))
	product := productBrand(installed.Product)
	return agent{
		userAgent: fmt.Sprintf(
			"Mozilla/5.0 (%s) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%s Safari/537.36%s", sys.token, shownVersion(major, build),
			suffix(product, major)),
		platform: sys.platform,
		hints: hints{
			Brands:          brandList(major, product, strconv.Itoa(major), false),
			FullVersionList: brandList(major, product, build, true),
			FullVersion:     build,
			Platform:        sys.hint, PlatformVersion: sys.version, Architecture: sys.arch, Bitness: "64",
			FormFactors: []string{"Desktop"},
		},
	}
}

// reducedSince is the first major whose User-Agent contains only the major version.
const reducedSince = 101

// shownVersion returns the version within the User-Agent.
func shownVersion(major int, build string) string {
	if major < reducedSince {
		return build
	}
	return strconv.Itoa(major) + ".0.0.0"
}

// suffix returns what Edge appends to the User-Agent.
func suffix(product string, major int) string {
	if product == "Microsoft Edge" {
		return fmt.Sprintf(" Edg/%d.0.0.0", major)
	}
	return ""
}

// productBrand returns the brand of a product beside Chromium, "" for none (components/embedder_support/user_agent_utils.cc: the product's
// name, where it is not Chromium).
func productBrand(product string) string {
	if product == "Brave Browser" {
		return "Brave"
	}
	for _, brand := range []string{"Google Chrome for Testing", "Google Chrome", "Microsoft Edge"} {
		if strings.HasPrefix(product, brand) {
			return brand
		}
	}
	return ""
}

// brandList returns the brands of a major version in its order, with its GREASE brand (components/embedder_support/user_agent_utils.cc,
// GenerateBrandVersionList and GetGreasedUserAgentBrandVersion).
func brandList(major int, product, version string, full bool) []brand {
	grease := greaseBrand(major)
	if full {
		grease.Version += ".0.0.0"
	}
	chromium := brand{"Chromium", version}
	if product == "" {
		list := []brand{chromium, grease}
		if major%2 == 0 {
			list[0], list[1] = grease, chromium
		}
		return list
	}
	order := [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}[major%6]
	list := make([]brand, 3)
	list[order[0]], list[order[1]], list[order[2]] = grease, chromium, brand{product, version}
	return list
}

// greaseBrand returns the invented brand of a major version, which keeps sites from relying on the list's format.
func greaseBrand(major int) brand {
	if major < 105 { // before the current format
		return brand{" Not A;Brand", "99"}
	}
	marks := []string{" ", "(", ":", "-", ".", "/", ")", ";", "=", "?", "_"}
	name := "Not" + marks[major%len(marks)] + "A" + marks[(major+1)%len(marks)] + "Brand"
	return brand{name, []string{"8", "99", "24"}[major%3]}
}

// headers returns the request headers of the hints, by their names in lower case (https://wicg.github.io/ua-client-hints/, 3).
func (h hints) headers() map[string]string {
	quoted := func(s string) string { return `"` + s + `"` }
	truth := func(b bool) string {
		if b {
			return "?1"
		}
		return "?0"
	}
	return map[string]string{
		"sec-ch-ua":                   brandHeader(h.Brands),
		"sec-ch-ua-mobile":            truth(h.Mobile),
		"sec-ch-ua-platform":          quoted(h.Platform),
		"sec-ch-ua-platform-version":  quoted(h.PlatformVersion),
		"sec-ch-ua-arch":              quoted(h.Architecture),
		"sec-ch-ua-bitness":           quoted(h.Bitness),
		"sec-ch-ua-model":             quoted(h.Model),
		"sec-ch-ua-full-version":      quoted(h.FullVersion),
		"sec-ch-ua-full-version-list": brandHeader(h.FullVersionList),
		"sec-ch-ua-wow64":             truth(h.Wow64),
		"sec-ch-ua-form-factors":      quoted(strings.Join(h.FormFactors, `", "`)),
	}
}

// brandHeader returns brands as a structured header (RFC 8941).
func brandHeader(brands []brand) string {
	items := make([]string, len(brands))
	for i, b := range brands {
		items[i] = `"` + b.Brand + `";v="` + b.Version + `"`
	}
	return strings.Join(items, ", ")
}

// header is Fetch.HeaderEntry (CDP).
type header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// hintRewriter replaces the browser's own client hints in requests by the identity's. The first request of a tab without an opener, or of a
// restored one, leaves before a session can override it.
type hintRewriter struct {
	userAgent     string
	own, declared map[string]string
}

// rewrite returns the corrected headers of a request, nil if they are right. It leaves alone what a client of the gateway has set: such a
// request has another user agent, or hints that are not the browser's own.
func (c *hintRewriter) rewrite(headers map[string]string) []header {
	wrong := false
	out := make([]header, 0, len(headers))
	for name, value := range headers {
		lower := strings.ToLower(name)
		if lower == "user-agent" && value != c.userAgent {
			return nil
		}
		if told, isHint := c.declared[lower]; isHint && value != told && (value == c.own[lower] || value == "" || value == `""`) {
			value, wrong = told, true
		}
		out = append(out, header{name, value})
	}
	if !wrong {
		return nil
	}
	return out
}

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
