package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	_ "time/tzdata" // zone names are the same on every platform

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/language"

	"warren/identity"
	"warren/store"
)

// This file holds what a profile may be told, and the rules of each member (contract, Profile).

// profileInput is a profile as a request brings it: on create, and on update with the members to change.
type profileInput struct {
	WorkspaceID       opt[string]      `json:"workspaceId,omitempty" doc:"The workspace that owns it; it never changes. Default: the key's only workspace, else default." example:"default"`
	Name              opt[string]      `json:"name,omitempty" nullable:"false" doc:"1 to 200 characters. Need not be unique." example:"Shop, Berlin"`
	OS                opt[string]      `json:"os,omitempty" doc:"win, mac or linux (windows, macos, darwin and lin are taken too). Default: this machine's." example:"win"`
	BrowserVersion    opt[digits]      `json:"browserVersion,omitempty" doc:"A major version, \"1\" to \"999\". Default: that of the installed browser."`
	Tags              opt[[]string]    `json:"tags,omitempty" doc:"At most 50, each of 1 to 64 characters. Replaces the list." example:"[\"shop\",\"de\"]"`
	Notes             opt[string]      `json:"notes,omitempty" doc:"At most 10,000 characters."`
	ProxyID           opt[string]      `json:"proxyId,omitempty" doc:"A proxy of the same workspace. null: direct."`
	FallbackProxyIDs  opt[[]string]    `json:"fallbackProxyIds,omitempty" doc:"At most 10 proxies of the same workspace, in order: what stands in for proxyId while the browser runs, when it is dead. Nothing stands in for a direct connection."`
	FallbackCountry   opt[string]      `json:"fallbackCountry,omitempty" enum:"same,any" doc:"same (the default): only fallbacks whose last good check came out in the country of proxyId's are used; where either is not known it is left out, and start warns (fallback_left_out)."`
	StartURLs         opt[[]string]    `json:"startUrls,omitempty" doc:"At most 20 pages to open: http, https or about:blank." example:"[\"https://example.com/\"]"`
	Timezone          opt[string]      `json:"timezone,omitempty" doc:"auto (of the exit), system, or an IANA name." example:"Europe/Berlin"`
	Locale            opt[locale]      `json:"locale,omitempty" doc:"auto (of the exit), system, or a list of language tags (BCP 47)."`
	Geolocation       opt[geolocation] `json:"geolocation,omitempty" doc:"auto (of the exit), off, or a position."`
	WebRTC            opt[string]      `json:"webrtc,omitempty" enum:"proxy_only,off,default" doc:"default is refused with a proxy: it would tell the machine's addresses."`
	Screen            opt[screen]      `json:"screen,omitempty" doc:"null: the browser's own."`
	Headless          opt[bool]        `json:"headless,omitempty" doc:"null: headed where there is a display, else headless."`
	IdleTimeoutMs     opt[int64]       `json:"idleTimeoutMs,omitempty" minimum:"1000" maximum:"2592000000" doc:"The run is closed when it was idle for so long: no DevTools client and no viewer is connected and, unless it is headless, nothing goes through its proxy. An event run.expiring comes before."`
	MaxRunMs          opt[int64]       `json:"maxRunMs,omitempty" minimum:"1000" maximum:"2592000000" doc:"The run is closed after so long. An event run.expiring comes before."`
	BackgroundTraffic opt[string]      `json:"backgroundTraffic,omitempty" enum:"refuse,allow" doc:"What the relay does with the services that Chrome itself asks (updates, variations and the like; docs/background-traffic.md): refuse, or let them through the proxy."`
	AllowLocal        opt[[]string]    `json:"allowLocal,omitempty" doc:"At most 20 services of this machine or its network, as host:port, that pages may reach, beside the proxy: localhost or an address. Only where the server lets profiles reach private networks." example:"[\"localhost:3000\"]"`
	LogHosts          opt[bool]        `json:"logHosts,omitempty" doc:"Keep which hosts a run connects to, 1,000 names at most (GET /runs/{runId}/hosts). Default: false, and nothing is kept anywhere. Takes effect at once; false forgets what the run has kept."`
	LocalhostVia      opt[viaList]     `json:"localhostVia,omitempty" doc:"At most 20 ports of this machine that pages reach on purpose, beside the proxy: 3000 is localhost:3000 (and *.localhost, 127.0.0.1 and [::1]), app.test:3000 is http://app.test:3000 served by this machine's port 3000, by no site of that name. allowLocal opens an address as it is, of the network too; this gives names to ports of this machine. Only where the server lets profiles reach private networks."`
	AllowHosts        opt[[]string]    `json:"allowHosts,omitempty" doc:"At most 1,000 rules. When there are any, pages reach no host that none of them names: example.com (and every name below), *.example.com (names below alone), cdn-*.example.com, an address or a prefix (192.0.2.0/24), each with a port behind a colon or without, or *. Takes effect at once, as denyHosts does." example:"[\"example.com\",\"*.example.net:443\"]"`
	DenyHosts         opt[[]string]    `json:"denyHosts,omitempty" doc:"At most 1,000 rules as those of allowHosts: hosts that pages do not reach, even if allowHosts names them. Open connections against new rules are ended."`
	Consistency       opt[string]      `json:"consistency,omitempty" enum:"off,warn,block" doc:"What start does when timezone, locale or geolocation contradict where the proxy comes out: nothing, a warning for each (the default), or refuse (422 identity_mismatch), also while the exit is unknown."`
}

// locale is "auto", "system" or a list of language tags. As text it is what the database holds.
type locale string

// UnmarshalJSON takes a word or a list.
func (l *locale) UnmarshalJSON(b []byte) error { return wordOr[[]string](b, (*string)(l)) }

// MarshalJSON shows the word as a string, the list as it is.
func (l locale) MarshalJSON() ([]byte, error) { return wordOrRaw(string(l)) }

// Schema is either shape.
func (locale) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{
		{Type: huma.TypeString, Enum: []any{"auto", "system"}},
		{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}, MinItems: new(1), MaxItems: new(10)},
		nullSchema(),
	}, Examples: []any{[]string{"de-DE", "en"}}}
}

// geolocation is "auto", "off" or a position. As text it is what the database holds.
type geolocation string

type position struct {
	Latitude  *float64 `json:"latitude"`
	Longitude *float64 `json:"longitude"`
	Accuracy  *float64 `json:"accuracy,omitempty"`
}

// UnmarshalJSON takes a word or a position.
func (g *geolocation) UnmarshalJSON(b []byte) error { return wordOr[position](b, (*string)(g)) }

// MarshalJSON shows the word as a string, the position as it is.
func (g geolocation) MarshalJSON() ([]byte, error) { return wordOrRaw(string(g)) }

// Schema is either shape.
func (geolocation) Schema(huma.Registry) *huma.Schema {
	number := func(low, high float64) *huma.Schema {
		return &huma.Schema{Type: huma.TypeNumber, Minimum: &low, Maximum: &high}
	}
	accuracy := number(0, 100000)
	accuracy.Nullable = true
	return &huma.Schema{AnyOf: []*huma.Schema{
		{Type: huma.TypeString, Enum: []any{"auto", "off"}},
		{Type: huma.TypeObject, AdditionalProperties: false, Required: []string{"latitude", "longitude"},
			Properties: map[string]*huma.Schema{
				"latitude": number(-90, 90), "longitude": number(-180, 180), "accuracy": accuracy}},
		nullSchema(),
	}, Examples: []any{map[string]any{"latitude": 52.52, "longitude": 13.4, "accuracy": 50}}}
}

// wordOr reads a JSON string as the word, and anything else as a T, kept as compact JSON.
func wordOr[T any](b []byte, dst *string) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, dst)
	}
	var v T
	if err := json.Unmarshal(b, &v, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	out, err := json.Marshal(v)
	*dst = string(out)
	return err
}

func wordOrRaw(s string) ([]byte, error) {
	if isRaw(s) {
		return []byte(s), nil
	}
	return json.Marshal(s)
}

// isRaw tells JSON from a word.
func isRaw(s string) bool { return strings.HasPrefix(s, "[") || strings.HasPrefix(s, "{") }

// screen is a display.
type screen struct {
	Width             int     `json:"width" minimum:"320" maximum:"7680" doc:"Pixels." example:"1920"`
	Height            int     `json:"height" minimum:"240" maximum:"4320" doc:"Pixels." example:"1080"`
	DeviceScaleFactor float64 `json:"deviceScaleFactor" required:"false" minimum:"0.5" maximum:"5" doc:"Device pixels per CSS pixel; 1 where it is not given." example:"1"`
}

// Schema stands inline, so that null may stand beside it.
func (screen) Schema(huma.Registry) *huma.Schema {
	integer := func(low, high float64) *huma.Schema {
		return &huma.Schema{Type: huma.TypeInteger, Minimum: &low, Maximum: &high}
	}
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: false, Nullable: true,
		Required: []string{"width", "height"},
		Properties: map[string]*huma.Schema{"width": integer(320, 7680), "height": integer(240, 4320),
			"deviceScaleFactor": {Type: huma.TypeNumber, Nullable: true, Minimum: new(0.5), Maximum: new(5.0)}},
		Examples: []any{map[string]any{"width": 1920, "height": 1080, "deviceScaleFactor": 1}}}
}

// rawStrings is a list of strings as the database holds it: JSON already.
type rawStrings string

// MarshalJSONTo writes it as it is.
func (r rawStrings) MarshalJSONTo(e *jsontext.Encoder) error {
	return e.WriteValue(jsontext.Value(r))
}

// Schema is a list of strings.
func (rawStrings) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}}
}

func toRawStrings(in []string) string {
	if len(in) == 0 {
		return "[]"
	}
	b, err := json.Marshal(in)
	if err != nil { // strings that came out of JSON go back into it
		return "[]"
	}
	return string(b)
}

// check normalises the members that are there and notes everything that is wrong with them.
func (in *profileInput) check(f *faults) {
	if in.Name.Null {
		f.add("body.name", "has no default: it cannot be null", nil)
	} else if in.Name.Set {
		in.Name.Value = f.line("body.name", in.Name.Value, 1, 200)
	}
	if in.OS.given() {
		n, ok := identity.System(in.OS.Value)
		if !ok {
			f.add("body.os", "must be win, mac or linux", cut(in.OS.Value))
		}
		in.OS.Value = n
	}
	if in.BrowserVersion.given() && !isVersion(string(in.BrowserVersion.Value)) {
		f.add("body.browserVersion", shapeMessages["browserVersion"], nil)
	}
	if in.Tags.given() {
		in.Tags.Value = f.tags("body.tags", in.Tags.Value)
	}
	if in.Notes.given() {
		in.Notes.Value = f.text("body.notes", in.Notes.Value, 10000)
	}
	if in.StartURLs.given() {
		f.startURLs("body.startUrls", in.StartURLs.Value)
	}
	in.checkRules(f)
	in.checkIdentity(f)
}

// checkIdentity is the part of check that concerns what the browser will say of itself.
func (in *profileInput) checkIdentity(f *faults) {
	if in.Timezone.given() && !isTimezone(in.Timezone.Value) {
		f.add("body.timezone", `must be "auto", "system" or an IANA name such as "Europe/Berlin"`, cut(in.Timezone.Value))
	}
	if in.Locale.given() && !isLocale(string(in.Locale.Value)) {
		f.add("body.locale", shapeMessages["locale"], nil)
	}
	if in.Geolocation.given() {
		g, ok := normalGeolocation(string(in.Geolocation.Value))
		if !ok {
			f.add("body.geolocation", shapeMessages["geolocation"], nil)
		}
		in.Geolocation.Value = geolocation(g)
	}
	if in.Screen.given() && in.Screen.Value.DeviceScaleFactor == 0 {
		in.Screen.Value.DeviceScaleFactor = 1
	}
}

func cut(s string) any {
	if len(s) > 100 {
		return nil
	}
	return s
}

func isVersion(s string) bool {
	return len(s) >= 1 && len(s) <= 3 && s[0] != '0' && strings.Trim(s, "0123456789") == ""
}

func isTimezone(s string) bool {
	return s == "auto" || s == "system" || identity.IsZone(s)
}

func isLocale(s string) bool {
	if s == "auto" || s == "system" {
		return true
	}
	var tags []string
	if json.Unmarshal([]byte(s), &tags) != nil || len(tags) == 0 || len(tags) > 10 {
		return false
	}
	for _, t := range tags {
		if _, err := language.Parse(t); err != nil || len(t) > 35 || t == "root" || strings.Contains(t, "_") { // the parser takes CLDR's spellings too
			return false
		}
	}
	return true
}

// membersOf names the members that a request gave, as events tell them.
func membersOf(input any) []string {
	names := []string{}
	v := reflect.ValueOf(input)
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if f := v.Field(i); name != "" && f.Kind() == reflect.Struct && f.FieldByName("Set").IsValid() && f.FieldByName("Set").Bool() {
			names = append(names, name)
		}
	}
	return names
}

// normalGeolocation completes a position with an accuracy of 50 m where none is given.
func normalGeolocation(s string) (string, bool) {
	if s == "auto" || s == "off" {
		return s, true
	}
	var p position
	if json.Unmarshal([]byte(s), &p) != nil || p.Latitude == nil || p.Longitude == nil ||
		*p.Latitude < -90 || *p.Latitude > 90 || *p.Longitude < -180 || *p.Longitude > 180 ||
		p.Accuracy != nil && (*p.Accuracy < 0 || *p.Accuracy > 100000) {
		return s, false
	}
	if p.Accuracy == nil {
		p.Accuracy = new(50.0)
	}
	b, err := json.Marshal(p)
	return string(b), err == nil
}

// startURLs wants pages that a browser opens from the network, and nothing else.
func (f *faults) startURLs(location string, urls []string) {
	if len(urls) > 20 {
		f.add(location, fmt.Sprintf("must have at most 20 addresses; it has %d", len(urls)), nil)
	}
	for i, u := range urls {
		if !isStartURL(u) {
			f.add(fmt.Sprintf("%s[%d]", location, i), "must be an http or https address, or about:blank", cut(u))
		}
	}
}

func isStartURL(s string) bool {
	if s == "about:blank" {
		return true
	}
	u, err := url.Parse(s)
	return err == nil && len(s) <= 2048 && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// apply writes the members that are there into row; null sets the default.
func (in *profileInput) apply(row *store.Profile) error {
	in.Name.merge(&row.Name, row.Name)
	in.OS.merge(&row.OS, identity.HostSystem())
	version := digits(row.BrowserVersion)
	in.BrowserVersion.merge(&version, "")
	row.BrowserVersion = string(version)
	mergeStrings(in.Tags, &row.Tags)
	in.Notes.merge(&row.Notes, "")
	mergeStrings(in.StartURLs, &row.StartURLs)
	in.Timezone.merge(&row.Timezone, "auto")
	l, g := locale(row.Locale), geolocation(row.Geolocation)
	in.Locale.merge(&l, "auto")
	in.Geolocation.merge(&g, "auto")
	row.Locale, row.Geolocation = string(l), string(g)
	in.WebRTC.merge(&row.WebRTC, "proxy_only")
	mergePtr(in.Headless, &row.Headless)
	mergePtr(in.IdleTimeoutMs, &row.IdleTimeoutMs)
	mergePtr(in.MaxRunMs, &row.MaxRunMs)
	in.BackgroundTraffic.merge(&row.BackgroundTraffic, "refuse")
	mergeStrings(in.AllowLocal, &row.AllowLocal)
	mergeStrings(opt[[]string]{in.LocalhostVia.Set, in.LocalhostVia.Null, in.LocalhostVia.Value}, &row.LocalhostVia)
	in.LogHosts.merge(&row.LogHosts, false)
	mergeStrings(in.AllowHosts, &row.AllowHosts)
	mergeStrings(in.DenyHosts, &row.DenyHosts)
	mergeStrings(in.FallbackProxyIDs, &row.FallbackProxyIDs)
	in.FallbackCountry.merge(&row.FallbackCountry, "same")
	in.Consistency.merge(&row.Consistency, "warn")
	if in.ProxyID.Set {
		mergePtr(in.ProxyID, &row.ProxyID)
		row.ProxyMissing = false
	}
	if in.Screen.Null {
		row.Screen = nil
	} else if in.Screen.Set {
		b, err := json.Marshal(in.Screen.Value)
		if err != nil {
			return err
		}
		row.Screen = new(string(b))
	}
	return nil
}

func mergeStrings(o opt[[]string], dst *string) {
	if o.Set {
		*dst = toRawStrings(o.Value)
	}
}

// checkProxy says what is wrong with the proxy that the profile would have. It reads the database.
func (in *profileInput) checkProxy(ctx context.Context, q *store.Queries, c *caller, workspace string, row *store.Profile, f *faults) error {
	if in.ProxyID.given() {
		p, err := q.GetProxy(ctx, store.GetProxyParams{ID: in.ProxyID.Value, Workspaces: c.Sees.Filter()})
		switch {
		case errors.Is(err, store.ErrNoRow), err == nil && p.WorkspaceID != workspace:
			f.add("body.proxyId", "is no proxy of the profile's workspace", cut(in.ProxyID.Value))
		case err != nil:
			return err
		}
	}
	if err := in.checkFallbacks(ctx, q, c, workspace, row, f); err != nil {
		return err
	}
	webrtc, proxy := "proxy_only", in.ProxyID.given()
	if row != nil {
		webrtc, proxy = row.WebRTC, proxy || row.ProxyID != nil && !in.ProxyID.Set
	}
	if in.WebRTC.Set {
		in.WebRTC.merge(&webrtc, "proxy_only")
	}
	if webrtc == "default" && proxy {
		f.add("body.webrtc", "default is refused with a proxy: it would tell this machine's addresses", nil)
	}
	return nil
}
