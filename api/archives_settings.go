package api

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"warren/runs"
	"warren/snapshots"
	"warren/store"
)

// Takes the settings of a profile out of an archive, which a stranger may have written, and says what does not travel.

// settle writes the settings of an archive into a row. Those that this server refuses keep their defaults, and a warning says so. A
// proxy that it does not have leaves the profile without one and unable to start: it must not go out directly.
func (s *API) settle(ctx context.Context, q *store.Queries, p snapshots.Archived, row *store.Profile) (warnings []runs.Warning, err error) {
	text, lost, err := localExtensions(ctx, q, p.Settings, row.WorkspaceID)
	if err != nil {
		return nil, err
	}
	in, missing, warnings, err := readSettings(text)
	if err != nil {
		return nil, err
	}
	warnings = append(warnings, lost...)
	for range settings { // each turn drops a member, or is the last
		merged := *row
		var f faults
		in.check(&f)
		more, err := s.merge(ctx, q, in, &merged)
		if err != nil {
			return nil, err
		}
		if f = append(f, more...); len(f) == 0 {
			*row = merged
			break
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(f[0].Location, "body."), "[")
		switch name {
		case "proxyId":
			missing = true
		case "fallbackProxyIds":
			warnings = append(warnings, runs.Warning{Code: "fallback_left_out", Message: "This server does not have all fallbacks of the " +
				"profile's proxy, so it has none. Choose them anew."})
		default:
			warnings = append(warnings, leftOutSetting(name, f[0].Message))
		}
		if !in.drop(name) {
			return nil, fmt.Errorf("the member %s is refused, and is no setting", name)
		}
	}
	if missing && row.ProxyID == nil {
		row.ProxyMissing = true
		warnings = append(warnings, withoutProxy())
	}
	return warnings, nil
}

func withoutProxy() runs.Warning {
	return runs.Warning{Code: "proxy_missing", Message: "The profile's proxy is not on this server. It does not start before you choose " +
		"one, or say that it connects directly."}
}

func leftOutSetting(name, why string) runs.Warning {
	return runs.Warning{Code: "setting_left_out", Message: "The setting " + strconv.Quote(truncate(name, maxMember)) +
		" was left out: " + why}
}

// readSettings reads the settings one by one, as the schema of a request and its checks allow. missing: the profile waits for a new
// proxy. The error is archive_refused if it has no name.
func readSettings(text jsontext.Value) (in *ProfileInput, missing bool, warnings []runs.Warning, err error) {
	var all map[string]jsontext.Value
	if err := errors.Join(tooMany(text, maxValues), json.Unmarshal(text, &all)); err != nil {
		return nil, false, nil, refusedFile("The settings of a profile in the archive cannot be read. Export it again.").Because(err)
	}
	missing = string(all[missingProxy]) == "true"
	delete(all, missingProxy)
	delete(all, "startWithServer") // a file starts no browsers
	delete(all, "temporary")       // what somebody carries over is to be kept
	schemas := huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)
	schema := huma.SchemaFromType(schemas, reflect.TypeFor[ProfileInput]())
	in = &ProfileInput{}
	for _, setting := range settings {
		value, there := all[setting.name]
		if !there {
			continue
		}
		delete(all, setting.name)
		one, f := readSetting(schemas, schema, setting.name, value)
		switch {
		case len(f) == 0:
			in.take(setting.name, one)
		case setting.name == "name":
			return nil, false, nil, refusedFile("The name of a profile in the archive is not one that this server takes: " + f[0].Message)
		default:
			warnings = append(warnings, leftOutSetting(setting.name, f[0].Message))
		}
	}
	for name := range all {
		warnings = append(warnings, leftOutSetting(name, "this version of Warren does not know it."))
	}
	if !in.Name.given() {
		return nil, false, nil, refusedFile("A profile in the archive has no name.")
	}
	return in, missing, warnings, nil
}

// readSetting reads one setting, as a request with nothing else would bring it.
func readSetting(schemas huma.Registry, schema *huma.Schema, name string, value jsontext.Value) (in *ProfileInput, f faults) {
	text, err := json.Marshal(map[string]jsontext.Value{name: value})
	var v any
	in = &ProfileInput{}
	if err := errors.Join(err, json.Unmarshal(text, &v), json.Unmarshal(text, in)); err != nil {
		f.add("body."+name, "It cannot be read.", nil)
		return in, f
	}
	var result huma.ValidateResult
	huma.Validate(schemas, schema, huma.NewPathBuffer([]byte("body"), 4), huma.ModeWriteToServer, sanitizeNames(v), &result)
	for _, err := range result.Errors {
		if d, ok := errors.AsType[*huma.ErrorDetail](err); ok {
			f = append(f, faultOf(d))
		}
	}
	if len(f) == 0 {
		in.check(&f)
	}
	return in, f
}

// take copies one member of another request.
func (in *ProfileInput) take(name string, from *ProfileInput) {
	to, source := reflect.ValueOf(in).Elem(), reflect.ValueOf(from).Elem()
	for i := range to.NumField() {
		if member, _, _ := strings.Cut(to.Type().Field(i).Tag.Get("json"), ","); member == name {
			to.Field(i).Set(source.Field(i))
		}
	}
}

// drop forgets one member. It reports whether it was there.
func (in *ProfileInput) drop(name string) bool {
	before := *in
	in.take(name, &ProfileInput{})
	return !reflect.DeepEqual(before, *in)
}

// lost says what of a profile's data this machine cannot use.
func (s *API) lost(p snapshots.Archived) (out []runs.Warning) {
	if p.Data == nil {
		return nil
	}
	if p.System != "linux" || runtime.GOOS != "linux" { // there Chrome's own key seals them, the same everywhere
		message := "The data are from another system (" + strconv.Quote(truncate(p.System, maxMember)) + "): cookies and passwords that " +
			"it sealed cannot be opened here. Sign in again."
		if p.System == runtime.GOOS {
			message = "The system seals cookies and passwords for the user of one machine. If these are from another machine or user, " +
				"sign in again."
		}
		out = append(out, runs.Warning{Code: "sealed_by_system", Message: message})
	}
	if have := s.runs.DefaultMajor(); have != "" && majorOf(p.Browser) > majorOf(have) {
		out = append(out, runs.Warning{Code: "newer_browser", Message: "Version " + truncate(p.Browser, 64) + " wrote the data, and this " +
			"server's browser is of version " + have + ". Install one that is as new before you start the profile."})
	}
	return out
}

// majorOf returns the first number of a version; 0 if there is none.
func majorOf(version string) int {
	major, _, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(major) //nolint:errcheck // none: 0
	return n
}
