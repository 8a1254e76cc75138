package runs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"warren/identity"
	"warren/pool"
	"warren/shim"
	"warren/store"
)

// berlin returns a fresh good check with an exit in Berlin.
func berlin() *pool.Check {
	return &pool.Check{OK: true, Country: new("DE"), Timezone: new("Europe/Berlin"), TimezoneSource: new("exit"), Locale: new("de-DE"),
		Latitude: new(52.5), Longitude: new(13.4), CheckedAt: time.Now()}
}

// TestWarningsOfAuto: an outdated or unknown exit causes one warning, which names the settings that follow it.
func TestWarningsOfAuto(t *testing.T) {
	t.Parallel()
	young, old := exitFrom(berlin()), exitFrom(berlin())
	old.CheckedAt = old.CheckedAt.Add(-pool.MaxCheckAge - time.Minute)
	for _, c := range []struct {
		r    identity.Resolution
		exit *identity.Exit
		want string
	}{
		{identity.Resolution{Followed: []string{"timezone"}}, young, ""},
		{identity.Resolution{Followed: []string{"timezone", "locale"}}, old, "exit_old timezone and locale follow"},
		{identity.Resolution{Missing: []string{"timezone", "locale", "geolocation"}}, nil,
			"exit_unknown timezone, locale and geolocation cannot"},
		{identity.Resolution{}, old, ""},
	} {
		got := ""
		for _, w := range exitWarnings(c.r, c.exit) {
			got += w.Code + " " + w.Message
		}
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	p := &plan{warnings: []Warning{{"exit_unknown", "Late."}}}
	p.warn(Warning{"exit_unknown", "More."})
	if fmt.Sprint(p.warnings) != "[{exit_unknown Late. More.}]" {
		t.Errorf("%v", p.warnings)
	}
}

// TestIdentityDiffers: another name of the same zone is no difference, but another time is.
func TestIdentityDiffers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		asked shim.Identity
		st    shim.State
		want  []string // parts of the warning; nil: no warning
	}{
		{shim.Identity{}, shim.State{Timezone: "Europe/Berlin", Languages: []string{"de"}}, nil},
		{shim.Identity{Timezone: "Asia/Kolkata"}, shim.State{Timezone: "Asia/Calcutta"}, nil},
		{shim.Identity{Timezone: "Etc/UTC"}, shim.State{Timezone: "UTC"}, nil},
		{shim.Identity{Timezone: "Europe/Berlin"}, shim.State{}, nil}, // no page reported a zone
		{shim.Identity{Timezone: "Europe/Berlin", Languages: []string{"de-DE", "de"}},
			shim.State{Timezone: "Europe/Paris", Languages: []string{"de-DE", "de"}}, nil},
		// The zones differ in summer only.
		{shim.Identity{Timezone: "Europe/Berlin"}, shim.State{Timezone: "Africa/Lagos"}, []string{"timezone (Africa/Lagos"}},
		{shim.Identity{Timezone: "Asia/Tokyo", Languages: []string{"ja"}},
			shim.State{Timezone: "UTC", Languages: []string{"en-US", "en"}}, []string{"timezone (UTC", "locale (en-US,en"}},
	} {
		got := identityWarnings(c.asked, &c.st)
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

// TestPending: exactly the settings that differ from the run's own are pending.
func TestPending(t *testing.T) {
	t.Parallel()
	row := store.Profile{OS: "linux", Timezone: "Europe/Berlin", Locale: `["de"]`, Geolocation: "off", WebRTC: "proxy_only",
		StartURLs: "[]", AllowLocal: "[]", BackgroundTraffic: "refuse"}
	env := identity.Environment{OS: "linux", Zone: "UTC", Local: time.UTC, Browser: 156, Now: time.Now()}
	r, err := identity.Resolve(declared(row), env)
	if err != nil {
		t.Fatal(err)
	}
	began := (&plan{row: row, spec: shim.Spec{Identity: shimIdentity(r.Values)}, resolved: r}).startedWith()
	for _, c := range []struct {
		change func(*store.Profile)
		want   string
		zone   string // the zone that pages see at once
	}{
		{func(*store.Profile) {}, "", "Europe/Berlin"},
		{func(p *store.Profile) { p.Name, p.Notes, p.Tags, p.Consistency = "n", "n", "[]", "off" }, "", "Europe/Berlin"},
		{func(p *store.Profile) {
			p.OS, p.BrowserVersion, p.Locale, p.Screen = "win", "124", `["fr"]`, new(`{"width":800,"height":600}`)
		}, "browserVersion os screen", "Europe/Berlin"},
		// A browser takes the host's languages only at its start.
		{func(p *store.Profile) { p.Locale = "system" }, "locale", "Europe/Berlin"},
		{func(p *store.Profile) {
			p.WebRTC, p.StartURLs, p.AllowLocal, p.BackgroundTraffic, p.Headless, p.MaxRunMs, p.IdleTimeoutMs = "off",
				`["about:blank"]`, `["localhost:1"]`, "allow", new(false), new(int64(1000)), new(int64(1000))
		}, "allowLocal backgroundTraffic headless idleTimeoutMs maxRunMs startUrls webrtc", "Europe/Berlin"},
		{func(p *store.Profile) { p.Timezone, p.Geolocation = "Asia/Tokyo", "auto" }, "", "Asia/Tokyo"},
		{func(p *store.Profile) { p.Timezone = "system" }, "", "UTC"}, // named, because the process was started with another
	} {
		row := row
		c.change(&row)
		wanted, err := identity.Resolve(declared(row), env)
		if err != nil {
			t.Fatal(err)
		}
		next := *began
		next.Identity = began.nextIdentity(wanted, env.Zone)
		if got := strings.Join(next.pending(row, shimIdentity(wanted.Values), env.Zone), " "); got != c.want ||
			next.Identity.Timezone != c.zone || c.want != "locale" && !slices.Equal(next.Identity.Languages, wanted.Values.Languages) {
			t.Errorf("pending is %q with the zone %q, want %q and %q", got, next.Identity.Timezone, c.want, c.zone)
		}
	}
	// An unknown exit changes nothing that pages see. The settings that follow it are pending.
	row.Timezone, row.Geolocation = "auto", "auto"
	env.Proxied = true
	wanted, err := identity.Resolve(declared(row), env)
	next := *began
	next.Identity = began.nextIdentity(wanted, env.Zone)
	if got := next.pending(row, shimIdentity(wanted.Values), env.Zone); err != nil || next.Identity.Timezone != "Europe/Berlin" ||
		!slices.Equal(got, []string{"geolocation", "timezone"}) {
		t.Errorf("with an unknown exit: %v, pending %v, %v", next.Identity, got, err)
	}
}
