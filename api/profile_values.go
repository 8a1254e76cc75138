package api

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	_ "time/tzdata" // zone names are the same on every platform

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/language"

	"warren/identity"
	"warren/nodes"
	"warren/proxy"
	"warren/runs"
)

// The types of a profile's members, and the rule of each one (contract, Profile).

// locale is "auto", "system" or a JSON list of BCP 47 tags, as the database holds it.
type locale string

// UnmarshalJSON takes a word or a list of tags.
func (l *locale) UnmarshalJSON(b []byte) error { return wordOr[[]string](b, (*string)(l)) }

// MarshalJSON shows the word as a string, the list as it is.
func (l locale) MarshalJSON() ([]byte, error) { return wordOrRaw(string(l)) }

// Schema is a word or a list of tags.
func (locale) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{
		{Type: huma.TypeString, Enum: []any{"auto", "system"}},
		{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}, MinItems: new(1), MaxItems: new(10)},
		nullSchema(),
	}, Examples: []any{[]string{"de-DE", "en"}}}
}

// geolocation is "auto", "off" or a JSON position, as the database holds it.
type geolocation string

// position is a place in degrees (WGS 84), with its accuracy in metres.
type position struct {
	Latitude  *float64 `json:"latitude"`
	Longitude *float64 `json:"longitude"`
	Accuracy  *float64 `json:"accuracy,omitempty"`
}

// UnmarshalJSON takes a word or a position.
func (g *geolocation) UnmarshalJSON(b []byte) error { return wordOr[position](b, (*string)(g)) }

// MarshalJSON shows the word as a string, the position as it is.
func (g geolocation) MarshalJSON() ([]byte, error) { return wordOrRaw(string(g)) }

// Schema is a word or a position.
func (geolocation) Schema(huma.Registry) *huma.Schema {
	accuracy := within(huma.TypeNumber, 0, 100000)
	accuracy.Nullable = true
	return &huma.Schema{AnyOf: []*huma.Schema{
		{Type: huma.TypeString, Enum: []any{"auto", "off"}},
		{Type: huma.TypeObject, AdditionalProperties: false, Required: []string{"latitude", "longitude"},
			Properties: map[string]*huma.Schema{
				"latitude": within(huma.TypeNumber, -90, 90), "longitude": within(huma.TypeNumber, -180, 180), "accuracy": accuracy}},
		nullSchema(),
	}, Examples: []any{map[string]any{"latitude": 52.52, "longitude": 13.4, "accuracy": 50}}}
}

// within takes a number from low to high.
func within(kind string, low, high float64) *huma.Schema {
	return &huma.Schema{Type: kind, Minimum: &low, Maximum: &high}
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

// wordOrRaw writes JSON as it is, and a word as a JSON string.
func wordOrRaw(s string) ([]byte, error) {
	if isRaw(s) {
		return []byte(s), nil
	}
	return json.Marshal(s)
}

// isRaw says whether a column's text is a JSON list or object, and no word.
func isRaw(s string) bool { return strings.HasPrefix(s, "[") || strings.HasPrefix(s, "{") }

// screen is a display in CSS pixels.
type screen struct {
	Width             int     `json:"width" minimum:"320" maximum:"7680" doc:"Pixels." example:"1920"`
	Height            int     `json:"height" minimum:"240" maximum:"4320" doc:"Pixels." example:"1080"`
	DeviceScaleFactor float64 `json:"deviceScaleFactor" required:"false" minimum:"0.5" maximum:"5" doc:"Device pixels per CSS pixel; 1 where it is not given." example:"1"`
}

// Schema is inline and not a reference, so that it can allow null.
func (screen) Schema(huma.Registry) *huma.Schema {
	factor := within(huma.TypeNumber, 0.5, 5)
	factor.Nullable = true
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: false, Nullable: true, Required: []string{"width", "height"},
		Properties: map[string]*huma.Schema{"width": within(huma.TypeInteger, 320, 7680), "height": within(huma.TypeInteger, 240, 4320),
			"deviceScaleFactor": factor},
		Examples: []any{map[string]any{"width": 1920, "height": 1080, "deviceScaleFactor": 1}}}
}

// runLimits is what a run may use of the machine. An absent member is the server's.
type runLimits struct {
	MemoryMB   *int `json:"memoryMb,omitempty"`
	CPUPercent *int `json:"cpuPercent,omitempty"`
	PIDs       *int `json:"pids,omitempty"`
}

// Schema is inline and not a reference, so that it can allow null.
func (runLimits) Schema(huma.Registry) *huma.Schema {
	member := func(low, high float64, doc string) *huma.Schema {
		s := within(huma.TypeInteger, low, high)
		s.Nullable, s.Description = true, doc
		return s
	}
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: false, Nullable: true, Properties: map[string]*huma.Schema{
		"memoryMb": member(runs.MinMemoryMB, runs.MaxMemoryMB, "MiB that the browser's processes may have together, with shared memory "+
			"and what they keep of files. The run that needs more ends with out_of_memory."),
		"cpuPercent": member(runs.MinCPUPercent, runs.MaxCPUPercent, "Of one core: 150 are one and a half."),
		"pids":       member(runs.MinPIDs, runs.MaxPIDs, "Processes and threads. A tab takes about 25.")},
		Examples: []any{map[string]any{"memoryMb": 1024, "cpuPercent": 150, "pids": 2000}}}
}

// placement says on which servers a profile may be placed: those that have all of the labels.
type placement struct {
	Labels map[string]string `json:"labels"`
}

// Schema is inline and not a reference, so that it can allow null.
func (placement) Schema(huma.Registry) *huma.Schema {
	labels := &huma.Schema{Type: huma.TypeObject, AdditionalProperties: &huma.Schema{Type: huma.TypeString},
		Description: "Keys and values of " + nodes.LabelRule + ". A value may be empty."}
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: false, Nullable: true, Required: []string{"labels"},
		Properties: map[string]*huma.Schema{"labels": labels},
		Examples:   []any{map[string]any{"labels": map[string]any{"zone": "berlin"}}}}
}

// rawStrings is a list of strings as the database holds it: JSON already.
type rawStrings string

// MarshalJSONTo writes it as it is.
func (r rawStrings) MarshalJSONTo(e *jsontext.Encoder) error { return e.WriteValue(jsontext.Value(r)) }

// Schema is a list of strings.
func (rawStrings) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}}
}

// rawUses is a list of extensions as the database holds it: JSON already.
type rawUses string

// MarshalJSONTo writes it as it is.
func (r rawUses) MarshalJSONTo(e *jsontext.Encoder) error { return e.WriteValue(jsontext.Value(r)) }

// Schema is a list of extensions.
func (rawUses) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: false,
		Required: []string{"id", "enabled"}, Properties: map[string]*huma.Schema{
			"id":      {Type: huma.TypeString, Description: "The extension's id here."},
			"enabled": {Type: huma.TypeBoolean, Description: "Whether it is loaded."}}}}
}

// lineOf returns the check of one line of text (faults.line).
func lineOf(minLen, maxLen int) func(*faults, string, string) string {
	return func(f *faults, location, s string) string { return f.line(location, s, minLen, maxLen) }
}

// textOf returns the check of a text of several lines (faults.text).
func textOf(maxLen int) func(*faults, string, string) string {
	return func(f *faults, location, s string) string { return f.text(location, s, maxLen) }
}

func (f *faults) system(location, s string) string {
	name, ok := identity.System(s)
	if !ok {
		f.add(location, "Choose Windows, macOS or Linux: win, mac or linux.", cut(s))
	}
	return name
}

func (f *faults) browserVersion(location string, v digits) digits {
	ok := len(v) >= 1 && len(v) <= 3 && v[0] != '0' && strings.Trim(string(v), "0123456789") == ""
	f.require(ok, location, memberMessages["browserVersion"])
	return v
}

func (f *faults) timezone(location, s string) string {
	if s != "auto" && s != "system" && !identity.IsZone(s) {
		f.add(location, `Enter a time zone such as "Europe/Berlin", or "auto" or "system".`, cut(s))
	}
	return s
}

func (f *faults) locale(location string, l locale) locale {
	f.require(isLocale(string(l)), location, memberMessages["locale"])
	return l
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
		// The parser takes CLDR's spellings too: root, and _ for -.
		if _, err := language.Parse(t); err != nil || len(t) > 35 || t == "root" || strings.Contains(t, "_") {
			return false
		}
	}
	return true
}

func (f *faults) geolocation(location string, g geolocation) geolocation {
	normal, ok := normalGeolocation(string(g))
	f.require(ok, location, memberMessages["geolocation"])
	return geolocation(normal)
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

// wholeScreen completes a screen with one device pixel per CSS pixel where no other factor is given.
func wholeScreen(_ *faults, _ string, s screen) screen {
	if s.DeviceScaleFactor == 0 {
		s.DeviceScaleFactor = 1
	}
	return s
}

// startURLs wants pages that a browser opens from the network, and nothing else.
func (f *faults) startURLs(location string, urls []string) []string {
	f.atMost(20, "addresses", location, len(urls))
	for i, u := range urls {
		if !isStartURL(u) {
			f.add(element(location, i), "Enter a web address that begins with http:// or https://, or about:blank.", cut(u))
		}
	}
	return urls
}

func isStartURL(s string) bool {
	if s == "about:blank" {
		return true
	}
	u, err := url.Parse(s)
	return err == nil && len(s) <= 2048 && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// arguments notes switches that no profile may add to its browser's command line.
func (f *faults) arguments(location string, args []string) []string {
	for _, fault := range runs.CheckArguments(args) {
		f.add(element(location, fault.Index), fault.Message, nil)
	}
	return args
}

// placement notes labels that no server can have.
func (f *faults) placement(location string, p placement) placement {
	location += ".labels"
	f.require(p.Labels != nil, location, enterLabels)
	f.atMost(nodes.MaxLabels, "labels", location, len(p.Labels))
	for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
		if value := p.Labels[key]; !nodes.IsLabel(key, value) {
			f.add(location, "Enter keys and values of "+nodes.LabelRule+". Each begins with a letter or a digit.", cut(key+"="+value))
			return p
		}
	}
	return p
}

// maxRules is how many rules allowHosts and denyHosts may have.
const maxRules = 1000

// hostRules gives each rule its one spelling (proxy.NormalizeRule), and notes those that are none.
func (f *faults) hostRules(location string, rules []string) []string {
	if !f.atMost(maxRules, "rules", location, len(rules)) {
		return nil
	}
	normal := make([]string, len(rules))
	for i, s := range rules {
		rule, err := proxy.NormalizeRule(s)
		if err != nil {
			f.add(element(location, i), err.Error(), cut(s))
		}
		normal[i] = rule
	}
	return normal
}
