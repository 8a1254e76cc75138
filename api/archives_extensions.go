package api

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"warren/runs"
	"warren/store"
)

// Names the extensions of a profile in an archive. Their packages do not travel: where it is imported, the same package must be there.

// extensionsMember is the setting that an archive has in another form.
const extensionsMember = "extensions"

// archivedExtension is an extension of a profile in an archive.
type archivedExtension struct {
	ExtensionID string `json:"extensionId"`
	Name        string `json:"name"`
	Version     string `json:"version"`
	SHA256      string `json:"sha256"` // of the package
	Enabled     bool   `json:"enabled"`
}

// settingsToExport returns the settings of a profile as an archive has them.
func (s *API) settingsToExport(ctx context.Context, row store.Profile) (jsontext.Value, error) {
	text, err := settingsOf(row)
	if err != nil || row.Extensions == "[]" {
		return text, err
	}
	uses, rows, err := runs.ExtensionsOf(ctx, s.store.Read(), row)
	if err != nil {
		return nil, err
	}
	out := []archivedExtension{}
	for _, u := range uses {
		if at := slices.IndexFunc(rows, func(e store.Extension) bool { return e.ID == u.ID }); at >= 0 {
			e := rows[at]
			out = append(out, archivedExtension{e.ExtensionID, e.Name, e.Version, e.Sha256, u.Enabled})
		}
	}
	return withMember(text, extensionsMember, out)
}

// withMember replaces a member of an object.
func withMember(text jsontext.Value, name string, value any) (jsontext.Value, error) {
	var all map[string]jsontext.Value
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	v, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	all[name] = v
	return json.Marshal(all, json.Deterministic(true))
}

// localExtensions replaces the extensions of an archive's settings by those of a workspace with the same packages. A warning names those
// that the workspace does not have. Settings that cannot be read are left to readSettings.
func localExtensions(ctx context.Context, q *store.Queries, text jsontext.Value, workspace string) (
	out jsontext.Value, warnings []runs.Warning, err error,
) {
	var in struct {
		Extensions []archivedExtension `json:"extensions"`
	}
	if tooMany(text, maxValues) != nil || json.Unmarshal(text, &in) != nil || len(in.Extensions) == 0 {
		return text, nil, nil
	}
	uses := []extensionUse{}
	var lost []string
	for _, e := range in.Extensions[:min(len(in.Extensions), maxExtensions)] {
		switch row, err := q.GetExtensionOfPackage(ctx, store.GetExtensionOfPackageParams{WorkspaceID: workspace, Sha256: e.SHA256}); {
		case err == nil:
			uses = append(uses, extensionUse{row.ID, &e.Enabled})
		case errors.Is(err, store.ErrNoRow):
			lost = append(lost, truncate(e.Name, maxMember)+" "+truncate(e.Version, maxMember)+" ("+
				truncate(e.ExtensionID, maxMember)+", SHA-256 of its package "+truncate(e.SHA256, maxMember)+")")
		default:
			return nil, nil, err
		}
	}
	if len(lost) > 0 {
		warnings = append(warnings, runs.Warning{Code: "extension_missing", Message: "The workspace does not have these extensions of " +
			"the profile, so they were left out: " + strings.Join(lost, "; ") + ". Add the packages and choose them. Their data are kept."})
	}
	out, err = withMember(text, extensionsMember, uses)
	return out, warnings, err
}
