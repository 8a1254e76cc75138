package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"warren/shim"
	"warren/store"
)

// berlin is a good check of now, of an exit in Berlin.
func berlin() *checkJSON {
	return &checkJSON{OK: true, Country: ptr("DE"), Timezone: ptr("Europe/Berlin"), TimezoneSource: ptr("exit"), Locale: ptr("de-DE"),
		Latitude: ptr(52.5), Longitude: ptr(13.4), CheckedAt: timestamp(now())}
}

func zoneOf(t testing.TB, name string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestResolve: of each setting the value and its source, for every way in which it can be declared and known.
func TestResolve(t *testing.T) {
	t.Parallel()
	auto := store.Profile{OS: "linux", Timezone: "auto", Locale: "auto", Geolocation: "auto", WebRTC: "proxy_only"}
	bare := &checkJSON{OK: true, ExitIP: ptr("203.0.113.7")}
	type change = func(*store.Profile, *surroundings)
	nothing := func(*store.Profile, *surroundings) {}
	for name, c := range map[string]struct {
		change   change
		identity shim.Identity
		sources  string // of timezone, locale, geolocation, os, browserVersion, screen
		missing  string
	}{
		"the exit tells all": {nothing, shim.Identity{Timezone: "Europe/Berlin", Languages: []string{"de-DE", "de", "en-US", "en"},
			Geolocation: &shim.Position{Latitude: 52.5, Longitude: 13.4, Accuracy: 25000}}, "exit exit exit profile default default", ""},
		"no proxy": {func(_ *store.Profile, a *surroundings) { a.proxied = false }, shim.Identity{}, "host host default profile default default", ""},
		"the exit is not known": {func(_ *store.Profile, a *surroundings) { a.exit = nil }, shim.Identity{}, "host host default profile default default",
			"timezone locale geolocation"},
		"the exit tells its address alone": {func(_ *store.Profile, a *surroundings) { a.exit = bare }, shim.Identity{}, "host host default profile default default", "timezone locale"},
		"a zone that nobody knows": {func(_ *store.Profile, a *surroundings) { a.exit.Timezone = ptr("Mars/Olympus") },
			shim.Identity{Languages: []string{"de-DE", "de", "en-US", "en"}, Geolocation: &shim.Position{Latitude: 52.5, Longitude: 13.4, Accuracy: 25000}},
			"host exit exit profile default default", "timezone"},
		"system": {func(p *store.Profile, _ *surroundings) {
			p.Timezone, p.Locale, p.Geolocation = "system", "system", "off"
		},
			shim.Identity{Geolocation: &shim.Position{Off: true}}, "host host profile profile default default", ""},
		"all declared": {func(p *store.Profile, _ *surroundings) {
			p.OS, p.BrowserVersion, p.Timezone, p.Locale = "win", "124", "Asia/Tokyo", `["ja","en"]`
			p.Geolocation, p.Screen = `{"latitude":35.7,"longitude":139.7,"accuracy":50}`, ptr(`{"width":1920,"height":1080,"deviceScaleFactor":2}`)
		}, shim.Identity{OS: "win", Version: "124", Timezone: "Asia/Tokyo", Languages: []string{"ja", "en"},
			Geolocation: &shim.Position{Latitude: 35.7, Longitude: 139.7, Accuracy: 50}, Screen: &shim.Screen{Width: 1920, Height: 1080, DeviceScaleFactor: 2}},
			"profile profile profile profile profile profile", ""},
		"what is declared is what there is": {func(p *store.Profile, a *surroundings) { p.BrowserVersion, a.proxied = "156", false }, shim.Identity{},
			"host host default profile profile default", ""},
	} {
		row, around := auto, surroundings{proxied: true, exit: berlin(), os: "linux", zone: "Europe/London", local: zoneOf(t, "Europe/London"), major: 156}
		c.change(&row, &around)
		r, err := resolve(row, around)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, _ := json.Marshal(r.identity)
		want, _ := json.Marshal(c.identity)
		if string(got) != string(want) {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
		s := r.settings
		if sources := strings.Join([]string{s.Timezone.Source, s.Locale.Source, s.Geolocation.Source, s.OS.Source, s.BrowserVersion.Source, s.Screen.Source}, " "); sources != c.sources {
			t.Errorf("%s: the sources are %s, want %s", name, sources, c.sources)
		}
		if missing := strings.Join(r.missing, " "); missing != c.missing {
			t.Errorf("%s: missing is %q, want %q", name, missing, c.missing)
		}
	}
}

// TestWarningsOfAuto: an exit that is old or unknown is told once, with the members that wanted it.
func TestWarningsOfAuto(t *testing.T) {
	t.Parallel()
	old := berlin()
	old.CheckedAt -= timestamp((goodFor + time.Minute).Milliseconds())
	for _, c := range []struct {
		r    resolution
		exit *checkJSON
		want string
	}{
		{resolution{followed: []string{"timezone"}}, berlin(), ""},
		{resolution{followed: []string{"timezone", "locale"}}, old, "exit_old timezone and locale follow"},
		{resolution{missing: []string{"timezone", "locale", "geolocation"}}, nil, "exit_unknown timezone, locale and geolocation cannot"},
		{resolution{}, old, ""},
	} {
		got := ""
		for _, w := range c.r.warnings(c.exit) {
			got += w.Code + " " + w.Message
		}
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	p := &plan{warnings: []warningJSON{{"exit_unknown", "Late."}}}
	p.warn(warningJSON{"exit_unknown", "More."})
	if fmt.Sprint(p.warnings) != "[{exit_unknown Late. More.}]" {
		t.Errorf("%v", p.warnings)
	}
}

// TestLanguagesOf: the list that Chrome itself shows for a language.
func TestLanguagesOf(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{"de-DE": "de-DE,de,en-US,en", "en-US": "en-US,en", "en-GB": "en-GB,en-US,en", "ja-JP": "ja,en-US,en", "fr-FR": "fr-FR,fr,en-US,en",
		"es-ES": "es-ES,es", "es-MX": "es-MX,es", "cs-CZ": "cs-CZ,cs", "ar-EG": "ar,en-US,en", "de-AT": "de-AT,de,en-US,en", "zh-CN": "zh-CN,zh", "zh-TW": "zh-TW,zh,en-US,en", "pt-BR": "pt-BR,pt,en-US,en"} {
		if got := strings.Join(languagesOf(tag), ","); got != want {
			t.Errorf("%s: %s, want %s", tag, got, want)
		}
	}
}

// TestIdentityDiffers: other names of one zone are no difference, another time is.
func TestIdentityDiffers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		asked shim.Identity
		st    shim.State
		want  []string // parts of the warning; nil: none
	}{
		{shim.Identity{}, shim.State{Timezone: "Europe/Berlin", Languages: []string{"de"}}, nil},
		{shim.Identity{Timezone: "Asia/Kolkata"}, shim.State{Timezone: "Asia/Calcutta"}, nil},
		{shim.Identity{Timezone: "Etc/UTC"}, shim.State{Timezone: "UTC"}, nil},
		{shim.Identity{Timezone: "Europe/Berlin"}, shim.State{}, nil}, // no page told
		{shim.Identity{Timezone: "Europe/Berlin", Languages: []string{"de-DE", "de"}}, shim.State{Timezone: "Europe/Paris", Languages: []string{"de-DE", "de"}}, nil},
		{shim.Identity{Timezone: "Europe/Berlin"}, shim.State{Timezone: "Africa/Lagos"}, []string{"timezone (Africa/Lagos"}}, // the same in winter alone
		{shim.Identity{Timezone: "Asia/Tokyo", Languages: []string{"ja"}}, shim.State{Timezone: "UTC", Languages: []string{"en-US", "en"}}, []string{"timezone (UTC", "locale (en-US,en"}},
	} {
		got := differs(c.asked, &c.st)
		if len(got) != min(len(c.want), 1) {
			t.Errorf("%+v: %v", c.asked, got)
			continue
		}
		for _, part := range c.want {
			if got[0].Code != "identity_differs" || !strings.Contains(got[0].Message, part) {
				t.Errorf("%+v: %v, want %q in it", c.asked, got, part)
			}
		}
	}
}

// TestContradictions: each declared member against an exit in Berlin, and what is none.
func TestContradictions(t *testing.T) {
	t.Parallel()
	row := store.Profile{OS: "linux", Timezone: "auto", Locale: "auto", Geolocation: "auto", Consistency: "warn"}
	for _, c := range []struct {
		name   string
		change func(*store.Profile, *surroundings)
		want   string
	}{
		{"auto", func(*store.Profile, *surroundings) {}, ""},
		{"another name of the same time", func(p *store.Profile, _ *surroundings) { p.Timezone = "Europe/Paris" }, ""},
		{"another time", func(p *store.Profile, _ *surroundings) { p.Timezone = "America/New_York" }, "timezone"},
		{"the same in winter alone", func(p *store.Profile, _ *surroundings) { p.Timezone = "Africa/Lagos" }, "timezone"},
		{"this machine's", func(p *store.Profile, _ *surroundings) { p.Timezone = "system" }, "timezone"},
		{"this machine's, which is the exit's", func(p *store.Profile, a *surroundings) { p.Timezone, a.local = "system", zoneOf(t, "Europe/Vienna") }, ""},
		{"another country's language", func(p *store.Profile, _ *surroundings) { p.Locale = `["en-US","de"]` }, "locale"},
		{"the country's", func(p *store.Profile, _ *surroundings) { p.Locale = `["de-DE","en-US"]` }, ""},
		{"a neighbour's German", func(p *store.Profile, _ *surroundings) { p.Locale = `["de-AT"]` }, "locale"},
		{"no region, spoken there", func(p *store.Profile, _ *surroundings) { p.Locale = `["de"]` }, ""},
		{"no region, known there", func(p *store.Profile, _ *surroundings) { p.Locale = `["en"]` }, ""},
		{"no region, not spoken there", func(p *store.Profile, _ *surroundings) { p.Locale = `["ja"]` }, "locale"},
		{"a second language of a country", func(p *store.Profile, a *surroundings) { p.Locale, a.exit.Country = `["fr"]`, ptr("CH") }, ""},
		{"no country at all", func(p *store.Profile, a *surroundings) { p.Locale, a.exit.Country = `["es-419"]`, ptr("MX") }, ""},
		{"far away", func(p *store.Profile, _ *surroundings) {
			p.Geolocation = `{"latitude":40.7,"longitude":-74,"accuracy":50}`
		}, "geolocation"},
		{"Hamburg", func(p *store.Profile, _ *surroundings) {
			p.Geolocation = `{"latitude":53.5,"longitude":10,"accuracy":50}`
		}, ""},
		{"denied", func(p *store.Profile, _ *surroundings) { p.Geolocation = "off" }, ""},
		{"all", func(p *store.Profile, _ *surroundings) {
			p.Timezone, p.Locale, p.Geolocation = "Asia/Tokyo", `["ja-JP"]`, `{"latitude":35.7,"longitude":139.7,"accuracy":50}`
		}, "timezone locale geolocation"},
		{"nothing is known", func(p *store.Profile, a *surroundings) {
			p.Timezone, p.Locale, a.exit = "Asia/Tokyo", `["ja-JP"]`, &checkJSON{OK: true}
		}, ""},
		{"no proxy", func(p *store.Profile, a *surroundings) { p.Timezone, a.proxied = "Asia/Tokyo", false }, ""},
		{"no check", func(p *store.Profile, a *surroundings) { p.Timezone, a.exit = "Asia/Tokyo", nil }, ""},
		{"no check, block", func(p *store.Profile, a *surroundings) { p.Consistency, a.exit = "block", nil }, "proxyId"},
		{"no check, no proxy, block", func(p *store.Profile, a *surroundings) { p.Consistency, a.exit, a.proxied = "block", nil, false }, ""},
		{"a zone of the country alone", func(p *store.Profile, a *surroundings) {
			p.Timezone, a.exit = "America/Los_Angeles", &checkJSON{OK: true, Country: ptr("US"), Timezone: ptr("America/New_York"), TimezoneSource: ptr("country")}
		}, ""},
		{"a zone of a country that has one", func(p *store.Profile, a *surroundings) {
			p.Timezone, a.exit.TimezoneSource = "Asia/Tokyo", ptr("country")
		}, "timezone"},
	} {
		row, around := row, surroundings{proxied: true, exit: berlin(), os: "linux", zone: "UTC", local: time.UTC, major: 156}
		c.change(&row, &around)
		var got []string
		for _, f := range findings(row, around) {
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

// TestDifferences: nothing is claimed to differ but what is emulated, and automation is always told.
func TestDifferences(t *testing.T) {
	t.Parallel()
	codes := func(id shim.Identity) (out []string) {
		for _, d := range differences(id, 156) {
			out = append(out, d.Code)
			if len(d.Contexts) == 0 || d.Message == "" {
				t.Errorf("%+v", d)
			}
		}
		return out
	}
	if got := codes(shim.Identity{Timezone: "Asia/Tokyo"}); !slices.Equal(got, []string{"webdriver"}) {
		t.Errorf("as it is: %v", got)
	}
	system, version := codes(shim.Identity{OS: "win"}), codes(shim.Identity{Version: "124"})
	for _, code := range []string{"webdriver", "worker_platform", "fonts", "gpu"} {
		if !slices.Contains(system, code) || code != "webdriver" && slices.Contains(version, code) {
			t.Errorf("%s: another system differs in %v, another version in %v", code, system, version)
		}
	}
	if !slices.Contains(version, "tls") || slices.Contains(system, "tls") {
		t.Errorf("another system differs in %v, another version in %v", system, version)
	}
}

// TestPending: what waits for the next start is what differs from what the run has, and nothing else.
func TestPending(t *testing.T) {
	t.Parallel()
	row := store.Profile{OS: "linux", Timezone: "Europe/Berlin", Locale: `["de"]`, Geolocation: "off", WebRTC: "proxy_only", StartURLs: "[]", AllowLocal: "[]", BackgroundTraffic: "refuse"}
	around := surroundings{os: "linux", zone: "UTC", local: time.UTC, major: 156}
	r, err := resolve(row, around)
	if err != nil {
		t.Fatal(err)
	}
	began := (&plan{row: row, spec: shim.Spec{Identity: r.identity}, resolved: r}).startedWith()
	for _, c := range []struct {
		change func(*store.Profile)
		want   string
		zone   string // what the pages are told at once
	}{
		{func(*store.Profile) {}, "", "Europe/Berlin"},
		{func(p *store.Profile) { p.Name, p.Notes, p.Tags, p.Consistency = "n", "n", "[]", "off" }, "", "Europe/Berlin"},
		{func(p *store.Profile) {
			p.OS, p.BrowserVersion, p.Locale, p.Screen = "win", "124", `["fr"]`, ptr(`{"width":800,"height":600}`)
		}, "browserVersion os screen", "Europe/Berlin"},
		{func(p *store.Profile) { p.Locale = "system" }, "locale", "Europe/Berlin"}, // a browser takes this machine's languages at its start
		{func(p *store.Profile) {
			p.WebRTC, p.StartURLs, p.AllowLocal, p.BackgroundTraffic, p.Headless, p.MaxRunMs, p.IdleTimeoutMs = "off", `["about:blank"]`, `["localhost:1"]`, "allow", ptr(false), ptr(int64(1000)), ptr(int64(1000))
		}, "allowLocal backgroundTraffic headless idleTimeoutMs maxRunMs startUrls webrtc", "Europe/Berlin"},
		{func(p *store.Profile) { p.Timezone, p.Geolocation = "Asia/Tokyo", "auto" }, "", "Asia/Tokyo"},
		{func(p *store.Profile) { p.Timezone = "system" }, "", "UTC"}, // named, since the process was started with another
	} {
		row := row
		c.change(&row)
		wanted, err := resolve(row, around)
		if err != nil {
			t.Fatal(err)
		}
		next := *began
		next.Identity = began.next(wanted, around.zone)
		if got := strings.Join(next.pending(row, wanted.identity, around.zone), " "); got != c.want || next.Identity.Timezone != c.zone || c.want != "locale" && !slices.Equal(next.Identity.Languages, wanted.identity.Languages) {
			t.Errorf("pending is %q with the zone %q, want %q and %q", got, next.Identity.Timezone, c.want, c.zone)
		}
	}
	// An exit that is not known changes nothing of what pages see, and what should follow it waits.
	row.Timezone, row.Geolocation = "auto", "auto"
	around.proxied = true
	wanted, err := resolve(row, around)
	next := *began
	next.Identity = began.next(wanted, around.zone)
	if got := next.pending(row, wanted.identity, around.zone); err != nil || next.Identity.Timezone != "Europe/Berlin" || !slices.Equal(got, []string{"geolocation", "timezone"}) {
		t.Errorf("with an unknown exit: %v, pending %v, %v", next.Identity, got, err)
	}
}
