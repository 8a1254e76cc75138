package identity

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// berlin returns an exit in Berlin, checked just now.
func berlin() *Exit {
	return &Exit{Country: "DE", Timezone: "Europe/Berlin", Locale: "de-DE",
		Latitude: new(52.5), Longitude: new(13.4), CheckedAt: time.Now()}
}

func zoneOf(t testing.TB, name string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestResolve: each setting has the right value and source, for every way of declaring it and every known exit.
func TestResolve(t *testing.T) {
	t.Parallel()
	auto := Declared{OS: "linux", Timezone: "auto", Locale: "auto", Geolocation: "auto", WebRTC: "proxy_only"}
	bare := &Exit{CheckedAt: time.Now()}
	type change = func(*Declared, *Environment)
	nothing := func(*Declared, *Environment) {}
	for name, c := range map[string]struct {
		change  change
		values  Values
		sources string // of timezone, locale, geolocation, os, browserVersion, screen
		missing string
	}{
		"the exit tells all": {nothing, Values{Timezone: "Europe/Berlin", Languages: []string{"de-DE", "de", "en-US", "en"},
			Position: &Position{Latitude: 52.5, Longitude: 13.4, Accuracy: 25000}}, "exit exit exit profile default default", ""},
		"no proxy": {func(_ *Declared, a *Environment) { a.Proxied = false }, Values{}, "host host default profile default default", ""},
		"the exit is not known": {func(_ *Declared, a *Environment) { a.Exit = nil }, Values{}, "host host default profile default default",
			"timezone locale geolocation"},
		"the exit tells its address alone": {func(_ *Declared, a *Environment) { a.Exit = bare }, Values{},
			"host host default profile default default", "timezone locale"},
		"a zone that nobody knows": {func(_ *Declared, a *Environment) { a.Exit.Timezone = "Mars/Olympus" },
			Values{Languages: []string{"de-DE", "de", "en-US", "en"},
				Position: &Position{Latitude: 52.5, Longitude: 13.4, Accuracy: 25000}},
			"host exit exit profile default default", "timezone"},
		"system": {func(p *Declared, _ *Environment) {
			p.Timezone, p.Locale, p.Geolocation = "system", "system", "off"
		},
			Values{Position: &Position{Off: true}}, "host host profile profile default default", ""},
		"all declared": {func(p *Declared, _ *Environment) {
			p.OS, p.BrowserVersion, p.Timezone, p.Locale = "win", "124", "Asia/Tokyo", `["ja","en"]`
			p.Geolocation = `{"latitude":35.7,"longitude":139.7,"accuracy":50}`
			p.Screen = `{"width":1920,"height":1080,"deviceScaleFactor":2}`
		}, Values{OS: "win", Version: "124", Timezone: "Asia/Tokyo", Languages: []string{"ja", "en"},
			Position: &Position{Latitude: 35.7, Longitude: 139.7, Accuracy: 50},
			Screen:   &Screen{Width: 1920, Height: 1080, DeviceScaleFactor: 2}},
			"profile profile profile profile profile profile", ""},
		"what is declared is what there is": {func(p *Declared, a *Environment) { p.BrowserVersion, a.Proxied = "156", false }, Values{},
			"host host default profile profile default", ""},
	} {
		d, env := auto, Environment{Proxied: true, Exit: berlin(), OS: "linux", Zone: "Europe/London",
			Local: zoneOf(t, "Europe/London"), Browser: 156, Now: time.Now()}
		c.change(&d, &env)
		r, err := Resolve(d, env)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, _ := json.Marshal(r.Values)
		want, _ := json.Marshal(c.values)
		if string(got) != string(want) {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
		s := r.Settings
		all := []string{s.Timezone.Source, s.Locale.Source, s.Geolocation.Source, s.OS.Source, s.BrowserVersion.Source, s.Screen.Source}
		if sources := strings.Join(all, " "); sources != c.sources {
			t.Errorf("%s: the sources are %s, want %s", name, sources, c.sources)
		}
		if missing := strings.Join(r.Missing, " "); missing != c.missing {
			t.Errorf("%s: missing is %q, want %q", name, missing, c.missing)
		}
	}
}

// TestLanguagesOf: Languages returns the list that Chrome shows.
func TestLanguagesOf(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{
		"de-DE": "de-DE,de,en-US,en", "en-US": "en-US,en", "en-GB": "en-GB,en-US,en", "ja-JP": "ja,en-US,en",
		"fr-FR": "fr-FR,fr,en-US,en",
		"es-ES": "es-ES,es", "es-MX": "es-MX,es", "cs-CZ": "cs-CZ,cs", "ar-EG": "ar,en-US,en", "de-AT": "de-AT,de,en-US,en",
		"zh-CN": "zh-CN,zh", "zh-TW": "zh-TW,zh,en-US,en", "pt-BR": "pt-BR,pt,en-US,en",
	} {
		if got := strings.Join(Languages(tag), ","); got != want {
			t.Errorf("%s: %s, want %s", tag, got, want)
		}
	}
}

// TestMismatches: each setting is compared with an exit in Berlin.
func TestMismatches(t *testing.T) {
	t.Parallel()
	d := Declared{OS: "linux", Timezone: "auto", Locale: "auto", Geolocation: "auto", Consistency: "warn"}
	for _, c := range []struct {
		name   string
		change func(*Declared, *Environment)
		want   string
	}{
		{"auto", func(*Declared, *Environment) {}, ""},
		{"another name of the same time", func(p *Declared, _ *Environment) { p.Timezone = "Europe/Paris" }, ""},
		{"another time", func(p *Declared, _ *Environment) { p.Timezone = "America/New_York" }, "timezone"},
		{"the same in winter alone", func(p *Declared, _ *Environment) { p.Timezone = "Africa/Lagos" }, "timezone"},
		{"this machine's", func(p *Declared, _ *Environment) { p.Timezone = "system" }, "timezone"},
		{"this machine's, which is the exit's", func(p *Declared, a *Environment) {
			p.Timezone, a.Local = "system", zoneOf(t, "Europe/Vienna")
		}, ""},
		{"another country's language", func(p *Declared, _ *Environment) { p.Locale = `["en-US","de"]` }, "locale"},
		{"the country's", func(p *Declared, _ *Environment) { p.Locale = `["de-DE","en-US"]` }, ""},
		{"a neighbour's German", func(p *Declared, _ *Environment) { p.Locale = `["de-AT"]` }, "locale"},
		{"no region, spoken there", func(p *Declared, _ *Environment) { p.Locale = `["de"]` }, ""},
		{"no region, known there", func(p *Declared, _ *Environment) { p.Locale = `["en"]` }, ""},
		{"no region, not spoken there", func(p *Declared, _ *Environment) { p.Locale = `["ja"]` }, "locale"},
		{"a second language of a country", func(p *Declared, a *Environment) { p.Locale, a.Exit.Country = `["fr"]`, "CH" }, ""},
		{"no country at all", func(p *Declared, a *Environment) { p.Locale, a.Exit.Country = `["es-419"]`, "MX" }, ""},
		{"far away", func(p *Declared, _ *Environment) {
			p.Geolocation = `{"latitude":40.7,"longitude":-74,"accuracy":50}`
		}, "geolocation"},
		{"Hamburg", func(p *Declared, _ *Environment) {
			p.Geolocation = `{"latitude":53.5,"longitude":10,"accuracy":50}`
		}, ""},
		{"denied", func(p *Declared, _ *Environment) { p.Geolocation = "off" }, ""},
		{"all", func(p *Declared, _ *Environment) {
			p.Timezone, p.Locale, p.Geolocation = "Asia/Tokyo", `["ja-JP"]`, `{"latitude":35.7,"longitude":139.7,"accuracy":50}`
		}, "timezone locale geolocation"},
		{"nothing is known", func(p *Declared, a *Environment) {
			p.Timezone, p.Locale, a.Exit = "Asia/Tokyo", `["ja-JP"]`, &Exit{}
		}, ""},
		{"no proxy", func(p *Declared, a *Environment) { p.Timezone, a.Proxied = "Asia/Tokyo", false }, ""},
		{"no check", func(p *Declared, a *Environment) { p.Timezone, a.Exit = "Asia/Tokyo", nil }, ""},
		{"no check, block", func(p *Declared, a *Environment) { p.Consistency, a.Exit = "block", nil }, "proxyId"},
		{"no check, no proxy, block", func(p *Declared, a *Environment) { p.Consistency, a.Exit, a.Proxied = "block", nil, false }, ""},
		{"a zone of the country alone", func(p *Declared, a *Environment) {
			p.Timezone, a.Exit = "America/Los_Angeles", &Exit{Country: "US", Timezone: "America/New_York", ZoneOfCountry: true}
		}, ""},
		{"a zone of a country that has one", func(p *Declared, a *Environment) {
			p.Timezone, a.Exit.ZoneOfCountry = "Asia/Tokyo", true
		}, "timezone"},
	} {
		d, env := d, Environment{Proxied: true, Exit: berlin(), OS: "linux", Zone: "UTC", Local: time.UTC, Browser: 156, Now: time.Now()}
		c.change(&d, &env)
		var got []string
		for _, f := range Mismatches(d, env) {
			got = append(got, strings.TrimPrefix(f.Location, "profile."))
			if f.Code == "" || len(f.Message) < 20 || len(f.Message) > 300 {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if km := distance(52.52, 13.405, 48.1374, 11.5755); km < 500 || km > 510 { // Berlin to Munich: 504 km
		t.Errorf("Berlin to Munich is %v km", km)
	}
}

// TestDetectable: only emulated settings can be detected, and automation always is.
func TestDetectable(t *testing.T) {
	t.Parallel()
	codes := func(id Values) (out []string) {
		for _, d := range Detectable(id, 156) {
			out = append(out, d.Code)
			if len(d.Contexts) == 0 || d.Message == "" {
				t.Errorf("%+v", d)
			}
		}
		return out
	}
	if got := codes(Values{Timezone: "Asia/Tokyo"}); !slices.Equal(got, []string{"webdriver"}) {
		t.Errorf("as it is: %v", got)
	}
	system, version := codes(Values{OS: "win"}), codes(Values{Version: "124"})
	for _, code := range []string{"webdriver", "worker_platform", "fonts", "gpu"} {
		if !slices.Contains(system, code) || code != "webdriver" && slices.Contains(version, code) {
			t.Errorf("%s: another system differs in %v, another version in %v", code, system, version)
		}
	}
	if !slices.Contains(version, "tls") || slices.Contains(system, "tls") {
		t.Errorf("another system differs in %v, another version in %v", system, version)
	}
}
