package api

import (
	"context"

	"warren/identity"
	"warren/runs"
	"warren/store"
)

// Explains what the pages of a profile see.

// explainBody is the answer of explainProfile.
type explainBody struct{ Body *runs.Explanation }

func (explainBody) example() any {
	told := "It is auto, and the check of " + exampleTime().Format("2006-01-02T15:04:05.000Z") + " tells it."
	run := exampleStart().Info
	return runs.Explanation{ID: exampleProfileID, Status: "stopped", Consistency: "warn", Browser: &run.Browser, Exit: run.Proxy,
		Findings: []identity.Mismatch{}, Pending: []string{}, TemplateID: new(exampleTemplateID),
		Sources:     identity.Sources{"os": identity.FromProfile, "timezone": identity.FromTemplate, "webrtc": identity.ByDefault},
		Differences: identity.Detectable(identity.Values{}, 156),
		Effective: identity.Settings{
			OS: identity.Setting{Value: "linux", Source: identity.FromProfile,
				Detail: "It is this machine's own: nothing of it is emulated."},
			BrowserVersion: identity.Setting{Value: "156", Source: identity.ByDefault, Detail: "That of the browser that runs."},
			Timezone:       identity.Setting{Value: "Europe/Berlin", Source: identity.FromExit, Detail: told},
			Locale:         identity.Setting{Value: []string{"de-DE", "de", "en-US", "en"}, Source: identity.FromExit, Detail: told},
			Geolocation: identity.Setting{Source: identity.ByDefault,
				Detail: "It is auto, and the check told no position: pages ask, as Chrome does."},
			Screen: identity.Setting{Source: identity.ByDefault, Detail: "The browser's own."},
			WebRTC: identity.Setting{Value: "proxy_only", Source: identity.FromProfile}}}
}

func (s *API) explainProfile(ctx context.Context, in *struct{ ProfilePath }) (*explainBody, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	out, err := s.runs.Explain(ctx, callerOf(ctx).Sees, row)
	if err != nil {
		return nil, err
	}
	out.TemplateID, out.Sources = row.TemplateID, sourcesOf(row)
	return &explainBody{out}, nil
}

// sourcesOf names the source of each setting of a profile.
func sourcesOf(row store.Profile) identity.Sources {
	stored, all := identity.ReadSources(row.Sources), identity.Sources{}
	for _, s := range settings {
		if all[s.name] = stored.Of(s.name); s.name == "name" {
			all[s.name] = identity.FromProfile
		}
	}
	return all
}
