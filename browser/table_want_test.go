//go:build linux

package browser

import (
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The expected values of TestIdentityTable follow from the declared identity and from how Chromium forms such values, not from the code
// that emulates.

// declared is an identity, and values of it that follow no rule.
type declared struct {
	name string
	Identity
	number string // 1234567.89 in its language
}

// declaredIdentities returns the identities of the table; the first is the host's own.
func declaredIdentities(major int) []declared {
	return []declared{
		{name: "own"},
		{"win 124 de-DE", Identity{
			OS: "win", Version: "124", Timezone: "America/New_York", Languages: []string{"de-DE", "de", "en-US", "en"},
			Geolocation: &Geolocation{Latitude: 52.52, Longitude: 13.405, Accuracy: 10}, Screen: &Screen{1920, 1080, 2}}, "1.234.567,89"},
		{"mac 140 ja-JP", Identity{OS: "mac", Version: "140", Timezone: "Asia/Tokyo", Languages: []string{"ja-JP", "ja"},
			Geolocation: &Geolocation{Latitude: 35.6895, Longitude: 139.6917, Accuracy: 25}, Screen: &Screen{1512, 982, 2}},
			"1,234,567.89"},
		{"linux 130 pt-BR", Identity{
			OS: "linux", Version: "130", Timezone: "America/Sao_Paulo", Languages: []string{"pt-BR", "pt", "en-US", "en"},
			Geolocation: &Geolocation{Off: true}, Screen: &Screen{1366, 768, 1}}, "1.234.567,89"},
		{"win installed en-GB",
			Identity{OS: "win", Version: strconv.Itoa(major), Timezone: "Europe/London", Languages: []string{"en-GB", "en-US", "en"},
				Geolocation: &Geolocation{Latitude: 51.5072, Longitude: -0.1276, Accuracy: 50}, Screen: &Screen{1536, 864, 1.25}},
			"1,234,567.89"},
		{"linux installed en-AU",
			Identity{OS: "linux", Version: strconv.Itoa(major), Timezone: "Australia/Adelaide", Languages: []string{"en-AU", "en"},
				Geolocation: &Geolocation{Latitude: -34.9285, Longitude: 138.6007, Accuracy: 5.5}, Screen: &Screen{2560, 1440, 1}},
			"1,234,567.89"},
	}
}

func (d declared) own() bool { return d.OS == "" }

// wanted are the values that the cells of a round must show. Of the host's own identity, values that only the host knows are the page's.
type wanted struct {
	own, namespace        bool
	ua, platform, system  string
	brands                []string // "name/version"
	languages, accept     string
	zone, dates, locale   string
	position, screen, dpr string
	cores                 string
	major                 int
	arch, version, full   *regexp.Regexp
	page                  *sighting
}

// wants computes the values of an identity. page is what the page showed.
//
// They are those of Debian's Chromium 156.0.8078.79 with a window and nothing emulated, in every context:
//
//   - architecture x86, bitness 64, model "", platformVersion "" (there is none on Linux), wow64 false, formFactors Desktop
//   - uaFullVersion 156.0.8078.79, fullVersionList Not:A-Brand/8.0.0.0, Chromium/156.0.8078.79
//
// Headless it differs in its user agent, which says HeadlessChrome; its brands have Chromium alone. Without a declared screen it has one of
// 800x600 with a window of 780x580.
func wants(t *testing.T, d declared, installed Installed, page *sighting) wanted {
	t.Helper()
	w := wanted{own: d.own(), major: installed.Major, page: page, cores: fmt.Sprint(page.Told["cores"])}
	if d.Version != "" {
		w.major, _ = strconv.Atoi(d.Version)
	}
	between := "X11; Linux x86_64"
	w.platform, w.system = "Linux x86_64", "Linux"
	w.arch, w.version = regexp.MustCompile(`^x86$`), regexp.MustCompile(`^$`)
	switch d.OS {
	case "win":
		between, w.platform, w.system = "Windows NT 10.0; Win64; x64", "Win32", "Windows"
		w.version = regexp.MustCompile(`^1\d\.0\.0$`)
	case "mac":
		between, w.platform, w.system = "Macintosh; Intel Mac OS X 10_15_7", "MacIntel", "macOS"
		w.arch, w.version = regexp.MustCompile(`^(x86|arm)$`), regexp.MustCompile(`^(1\d|2\d)\.\d+\.\d+$`)
	}
	w.ua = fmt.Sprintf("Mozilla/5.0 (%s) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%d.0.0.0 Safari/537.36", between, w.major)
	w.brands = brandsOf(w.major)
	w.full = regexp.MustCompile(fmt.Sprintf(`^%d\.\d+\.\d+\.\d+$`, w.major))
	if w.own {
		w.full = regexp.MustCompile("^" + regexp.QuoteMeta(installed.Version) + "$")
	}
	w.languages, w.zone = strings.Join(d.Languages, ","), d.Timezone
	if w.own {
		w.languages, w.zone = fmt.Sprint(page.Told["languages"]), fmt.Sprint(page.Told["zone"])
	}
	w.accept = acceptLanguage(strings.Split(w.languages, ","))
	w.dates = offsets(t, w.zone)
	w.locale, w.screen, w.dpr, w.position = fmt.Sprint(page.Told["locale"]), fmt.Sprint(page.Told["screen"]), fmt.Sprint(page.Told["dpr"]),
		"prompt"
	if w.own {
		return w
	}
	w.locale = strings.Join([]string{d.Languages[0], d.Languages[0], d.number}, " ")
	w.screen, w.dpr = fmt.Sprintf("%dx%d", d.Screen.Width, d.Screen.Height), fmt.Sprint(d.Screen.DeviceScaleFactor)
	if w.position = "denied"; !d.Geolocation.Off {
		w.position = fmt.Sprintf("%v,%v,%v", d.Geolocation.Latitude, d.Geolocation.Longitude, d.Geolocation.Accuracy)
	}
	return w
}

// brandsOf returns the brands of an unbranded Chromium (components/embedder_support/user_agent_utils.cc: GetGreasedUserAgentBrandVersion).
func brandsOf(major int) []string {
	between := []string{" ", "(", ":", "-", ".", "/", ")", ";", "=", "?", "_"}
	grease := "Not" + between[major%11] + "A" + between[(major+1)%11] + "Brand/" + []string{"8", "99", "24"}[major%3]
	all := []string{grease, fmt.Sprintf("Chromium/%d", major)}
	if major%2 == 1 {
		slices.Reverse(all)
	}
	return all
}

// acceptLanguage returns the header for a list of languages (net/http/http_util.cc: GenerateAcceptLanguageHeader).
func acceptLanguage(languages []string) string {
	out := slices.Clone(languages)
	for i := range out {
		if i > 0 {
			out[i] += fmt.Sprintf(";q=%.1f", math.Max(0.1, 1-float64(i)/10))
		}
	}
	return strings.Join(out, ",")
}

// offsets returns the changes of a zone's offset in 2026, as probe.js lists them.
func offsets(t *testing.T, zone string) string {
	t.Helper()
	where, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var changes []string
	last := math.MaxInt
	for h := 0; begin.Add(time.Duration(h)*time.Hour).Year() == 2026; h++ {
		_, offset := begin.Add(time.Duration(h) * time.Hour).In(where).Zone()
		if minutes := -offset / 60; minutes != last {
			last = minutes
			changes = append(changes, fmt.Sprintf("%d:%d", h, minutes))
		}
	}
	return strings.Join(changes, ",")
}

// value compares what JavaScript saw: want is "" if it is right.
func (w wanted) value(c tableContext, property string, told map[string]any) (want, got string) {
	got = "nothing"
	if v, ok := told[property]; ok {
		got = fmt.Sprint(v)
	}
	simple := map[string]string{
		"platform": w.platform, "languages": w.languages, "language": strings.Split(w.languages, ",")[0], "cores": w.cores,
		"locale": w.locale,
		"zone":   w.zone, "dates": w.dates, "screen": w.screen, "dpr": w.dpr, "position": w.position, "webrtc": "none",
		"low": strings.Join(append(slices.Clone(w.brands), "false", w.system), ",")}
	if must, ok := simple[property]; ok {
		if got == must || property == "webrtc" && w.onlyOurs(c, got) {
			return "", got
		}
		return must, got
	}
	switch property {
	case "ua":
		got = fmt.Sprint(told["ua"])
		if version := fmt.Sprint(told["appVersion"]); got == w.ua && version != strings.TrimPrefix(w.ua, "Mozilla/") {
			return "appVersion " + strings.TrimPrefix(w.ua, "Mozilla/"), version
		}
		if got != w.ua {
			return w.ua, got
		}
		return "", got
	case "high":
		return w.high(told), got
	case "sizes":
		return w.sizes(c, told), fmt.Sprintf("%v, later %v, screen %v, available %v", got, told["later"], told["screen"], told["avail"])
	}
	return "a property that the test knows", got
}

// onlyOurs reports whether candidates contain no address but the one that every namespace has. Chromium's policy for WebRTC does not apply
// to extensions' pages.
func (w wanted) onlyOurs(c tableContext, candidates string) bool {
	if c.class != classExtPage || !w.namespace {
		return false
	}
	for candidate := range strings.SplitSeq(candidates, " | ") {
		if fields := strings.Fields(candidate); len(fields) < 5 || fields[4] != "192.0.2.1" {
			return false
		}
	}
	return true
}

// high checks navigator.userAgentData.getHighEntropyValues.
func (w wanted) high(told map[string]any) string {
	h, ok := told["high"].(map[string]any)
	if !ok {
		return "values"
	}
	get := func(name string) string { return fmt.Sprint(h[name]) }
	for name, must := range map[string]string{
		"bitness": "64", "model": "", "wow64": "false", "forms": "Desktop",
		"low": strings.Join(append(slices.Clone(w.brands), "false", w.system), ",")} {
		if get(name) != must {
			return fmt.Sprintf("%s %q", name, must)
		}
	}
	if why := w.fullList(get("list")); why != "" {
		return why
	}
	switch {
	case !w.arch.MatchString(get("arch")):
		return "arch " + w.arch.String()
	case !w.version.MatchString(get("platformVersion")):
		return "platformVersion " + w.version.String()
	case !w.full.MatchString(get("full")):
		return "uaFullVersion " + w.full.String()
	}
	page, _ := w.page.Told["high"].(map[string]any)
	for name := range h {
		if page != nil && get(name) != fmt.Sprint(page[name]) {
			return fmt.Sprintf("%s as the page has it, %q", name, page[name])
		}
	}
	return ""
}

// fullList checks "name/a.b.c.d,name/a.b.c.d".
func (w wanted) fullList(list string) string {
	all := strings.Split(list, ",")
	if len(all) != len(w.brands) {
		return fmt.Sprintf("full versions of %v", w.brands)
	}
	for i, brand := range w.brands {
		name, major, _ := strings.Cut(brand, "/")
		gotName, version, _ := strings.Cut(all[i], "/")
		if gotName != name || !strings.HasPrefix(version, major+".") || strings.Count(version, ".") != 3 ||
			name == "Chromium" && !w.full.MatchString(version) {
			return fmt.Sprintf("full versions of %v", w.brands)
		}
	}
	return ""
}

// sizes checks that a window fits on its screen and a document into its window. The screen has a cell of its own. A document may have no
// sizes at its first line, but has them when it has requested everything.
func (w wanted) sizes(c tableContext, told map[string]any) string {
	var screenW, screenH, availW, availH int
	fmt.Sscanf(fmt.Sprint(told["screen"]), "%dx%d", &screenW, &screenH) //nolint:errcheck // zeros are checked
	fmt.Sscanf(fmt.Sprint(told["avail"]), "%dx%d", &availW, &availH)    //nolint:errcheck
	if availW > screenW || availH > screenH || availW == 0 {
		return fmt.Sprintf("an available part of the screen %dx%d, not %dx%d", screenW, screenH, availW, availH)
	}
	for _, when := range []string{"sizes", "later"} {
		var outerW, outerH, innerW, innerH int
		if n, _ := fmt.Sscanf(fmt.Sprint(told[when]), "%d,%d,%d,%d", &outerW, &outerH, &innerW, &innerH); n != 4 {
			continue // DevTools requests are made once
		}
		switch {
		case (when == "sizes" || len(c.requests()) == 0) && (outerW == 0 || innerW == 0):
		case outerW > screenW || outerH > screenH:
			return fmt.Sprintf("a window on the screen %dx%d", screenW, screenH)
		case innerW > outerW || innerH > outerH || innerW == 0:
			return "a document in its window"
		}
	}
	return ""
}

// head checks the headers of the requests of one kind.
func (w wanted) head(c tableContext, scheme, kind, of string, heads []http.Header) (want, got string) {
	if len(heads) == 0 {
		return "a request", "none"
	}
	// Critical-CH: requested again with the hints
	if c.name == "critical" && kind+of == "firstch" && len(heads[len(heads)-1].Values(highHints()[0])) == 0 {
		return highHints()[0], "none"
	}
	for _, h := range heads {
		switch of {
		case "ua":
			want, got = w.ua, h.Get("User-Agent")
		case "al":
			want, got = w.accept, h.Get("Accept-Language")
		case "ch":
			want, got = w.hints(c, scheme, kind, h)
		}
		if want != got {
			return want, got
		}
	}
	return "", got
}

// hints checks client hints: all that are there must be right. A document's requests over https have the three default ones, and those of
// its own origin all of them. In Chromium workers', WebSockets' and <a download> requests have none, nor has any over http.
func (w wanted) hints(c tableContext, scheme, kind string, h http.Header) (want, got string) {
	secure := scheme == "https" && !c.plain
	right := map[string]func(string) string{}
	is := func(must string) func(string) string {
		return func(string) string { return must }
	}
	like := func(pattern *regexp.Regexp) func(string) string {
		return func(got string) string {
			if text, err := strconv.Unquote(got); err == nil && pattern.MatchString(text) {
				return got
			}
			return `"` + pattern.String() + `"`
		}
	}
	var brands []string
	for _, b := range w.brands {
		name, version, _ := strings.Cut(b, "/")
		brands = append(brands, fmt.Sprintf("%q;v=%q", name, version))
	}
	right["Sec-CH-UA"], right["Sec-CH-UA-Mobile"], right["Sec-CH-UA-Platform"] = is(strings.Join(brands, ", ")), is("?0"),
		is(strconv.Quote(w.system))
	right["Sec-CH-UA-Arch"], right["Sec-CH-UA-Platform-Version"] = like(w.arch), like(w.version)
	right["Sec-CH-UA-Bitness"], right["Sec-CH-UA-Model"], right["Sec-CH-UA-WoW64"], right["Sec-CH-UA-Form-Factors"] = is(`"64"`), is(`""`),
		is("?0"), is(`"Desktop"`)
	right["Sec-CH-UA-Full-Version-List"] = func(got string) string {
		if why := w.fullList(strings.ReplaceAll(
			strings.ReplaceAll(strings.ReplaceAll(got, `";v="`, "/"), `", "`, ","), `"`, "")); why != "" {
			return why
		}
		return got
	}
	low := secure && c.document() && kind != "worker" && kind != "ws" && kind != "download" && c.class != classExtPage
	for _, name := range append([]string{"Sec-CH-UA", "Sec-CH-UA-Mobile", "Sec-CH-UA-Platform"}, highHints()...) {
		values, there := h[http.CanonicalHeaderKey(name)]
		isLow := !slices.Contains(highHints(), name)
		switch {
		case !there && (isLow && low || !isLow && secure && kind == "fetch" && c.class == classPage):
			return name + ": " + right[name](""), "none"
		case there && !secure:
			return "no hints over http", name + ": " + values[0]
		case there:
			if must := right[name](values[0]); must != values[0] {
				return name + ": " + must, name + ": " + values[0]
			}
		}
	}
	return "", ""
}
