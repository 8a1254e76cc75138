package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// TestAddProfiles: many profiles are one statement, and their rows equal those of AddProfile. If one is refused, none is
// there.
func TestAddProfiles(t *testing.T) {
	s := openTest(t)
	ensure(t, s, "a", "b")
	ctx := context.Background()
	proxy := aProxy("a", "h")
	mustWrite(t, s, func(q *Queries) error { _, err := q.InsertProxy(ctx, proxy); return err })
	settings := InsertProfilesParams{WorkspaceID: "a", OS: "mac", BrowserVersion: "99", Tags: `["Ä"]`, TagsKey: TagsKey([]string{"Ä"}),
		Notes: "Nöte\n\"'\\", StartURLs: `["about:blank"]`, Timezone: "UTC", Locale: `["de"]`, Geolocation: "off", WebRTC: "off",
		Screen: ptr(`{"width":1}`), Headless: ptr(false), IdleTimeoutMs: ptr(int64(5)), BackgroundTraffic: "allow", AllowLocal: `["h:1"]`,
		Consistency: "off", FallbackProxyIDs: `["x"]`, FallbackCountry: "any", AllowHosts: `["a"]`, DenyHosts: `["b"]`,
		LocalhostVia: `["1"]`, LogHosts: true, Extensions: `[{"id":"e"}]`, Temporary: true, Snapshots: ptr("off"), TemplateID: ptr("t"),
		Args: `["--mute-audio"]`, Passkeys: "ask", Sources: `{"os":"template"}`, CreatedAt: 7, UpdatedAt: 8}
	many := make([]NewProfile, 1000)
	for i, id := range NewIDs(len(many)) {
		many[i] = NewProfile{ID: id, Name: fmt.Sprint("Shöp \"'\\ ", i)}
		if i%2 == 0 {
			many[i].ProxyID = &proxy.ID
		}
	}
	statements := 0
	mustWrite(t, s, func(q *Queries) error {
		c := &counter{DBTX: q.db}
		err := New(c).AddProfiles(ctx, settings, many)
		statements = c.n
		return err
	})
	if statements != 1 {
		t.Errorf("%d statements, want 1", statements)
	}
	for _, p := range many {
		single := AddProfileParams{ID: newID(), WorkspaceID: "a", Name: p.Name, OS: "mac", BrowserVersion: "99", Tags: settings.Tags,
			TagsKey: settings.TagsKey, Notes: settings.Notes, SearchKey: SearchKey(p.Name, settings.Notes), ProxyID: p.ProxyID,
			StartURLs: settings.StartURLs, Timezone: "UTC", Locale: settings.Locale, Geolocation: "off", WebRTC: "off",
			Screen: settings.Screen, Headless: settings.Headless, IdleTimeoutMs: settings.IdleTimeoutMs, BackgroundTraffic: "allow",
			AllowLocal: settings.AllowLocal, Consistency: "off", FallbackProxyIDs: settings.FallbackProxyIDs, FallbackCountry: "any",
			AllowHosts: settings.AllowHosts, DenyHosts: settings.DenyHosts, LocalhostVia: settings.LocalhostVia, LogHosts: true,
			TemplateID: settings.TemplateID, Args: settings.Args, Passkeys: settings.Passkeys, Sources: settings.Sources,
			Extensions: settings.Extensions, Temporary: true, Snapshots: ptr("off"), CreatedAt: 7, UpdatedAt: 8}
		mustWrite(t, s, func(q *Queries) error { return q.AddProfile(ctx, single) })
		got, err := s.Read().GetProfile(ctx, GetProfileParams{ID: p.ID})
		want, failed := s.Read().GetProfile(ctx, GetProfileParams{ID: single.ID})
		want.ID = p.ID
		if err := errors.Join(err, failed); err != nil || *jsonText(got) != *jsonText(want) {
			t.Fatalf("%v\n%s, want\n%s", err, *jsonText(got), *jsonText(want))
		}
	}
	assertCounters(t, s)
	again := slices.Clone(many[:3])
	again[0].ID, again[1].ID = newID(), newID()
	if err := s.Write(ctx, func(q *Queries) error { return q.AddProfiles(ctx, settings, again) }); !errors.Is(err, ErrUnique) {
		t.Errorf("an id twice: got %v, want ErrUnique", err)
	}
	settings.WorkspaceID = "b"
	again[2].ID = newID()
	if err := s.Write(ctx, func(q *Queries) error { return q.AddProfiles(ctx, settings, again) }); !errors.Is(err, ErrReference) {
		t.Errorf("a proxy of another workspace: got %v, want ErrReference", err)
	}
	if n, err := s.Read().Totals(ctx, nil); err != nil || n.Profiles != int64(2*len(many)) {
		t.Errorf("%d profiles are there, want %d (%v)", n.Profiles, 2*len(many), err)
	}
}

// TestNewIDs: the ids of one call follow one another, and those of other calls are not between them.
func TestNewIDs(t *testing.T) {
	var all []string
	for range 50 {
		ids := NewIDs(300)
		if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != 300 {
			t.Fatalf("not in order: %v", ids)
		}
		for _, id := range all {
			if id >= ids[0] && id <= ids[299] {
				t.Fatalf("%s is between %s and %s", id, ids[0], ids[299])
			}
		}
		all = append(append(all, ids...), newID())
	}
}
