package api

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json"

	"warren/store"
)

// The extensions of a profile, and what a request may say of them.

// extensionUse is an extension of a profile.
type extensionUse struct {
	ID      string `json:"id" doc:"An extension of the same workspace." example:"0199a1c2-7d3e-7a10-8a55-0123456789ab"`
	Enabled *bool  `json:"enabled" required:"false" nullable:"true" doc:"false: it keeps its data, and is not loaded. Default: true."`
}

// maxExtensions is how many extensions a profile may have.
const maxExtensions = 20

// extensionUses notes too many extensions and those that stand twice.
func (f *faults) extensionUses(location string, uses []extensionUse) []extensionUse {
	if !f.atMost(maxExtensions, "extensions", location, len(uses)) {
		return nil
	}
	uses = slices.Clone(uses)
	for i, u := range uses {
		if slices.ContainsFunc(uses[:i], func(before extensionUse) bool { return before.ID == u.ID }) {
			f.add(element(location, i), "This extension is in the list already. Remove one of the two.", cut(u.ID))
		}
		if u.Enabled == nil {
			uses[i].Enabled = new(true)
		}
	}
	return uses
}

// jsonUses returns extensions as JSON.
func jsonUses(uses []extensionUse) string {
	text, err := json.Marshal(uses)
	if err != nil || len(uses) == 0 { // what came out of JSON goes back into it
		return "[]"
	}
	return string(text)
}

// checkExtensions notes what is wrong with the extensions that the request names: each must be of the profile's workspace, and Chrome knows
// one version of each.
func checkExtensions(ctx context.Context, q *store.Queries, workspace string, uses []extensionUse, f *faults) error {
	if len(uses) == 0 {
		return nil
	}
	ids := make([]string, len(uses))
	for i, u := range uses {
		ids[i] = u.ID
	}
	text, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	rows, err := q.ListExtensionsOfProfile(ctx, store.ListExtensionsOfProfileParams{WorkspaceID: workspace, Ids: string(text)})
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for i, id := range ids {
		location := element("body.extensions", i)
		at := slices.IndexFunc(rows, func(row store.Extension) bool { return row.ID == id })
		switch {
		case at < 0:
			f.add(location, "There is no such extension in the profile's workspace. Choose one of it, or add it first.", cut(id))
			continue
		case taken[rows[at].ExtensionID]:
			f.add(location, "This is another version of an extension in the list. Choose one of the two.", cut(id))
		}
		taken[rows[at].ExtensionID] = true
	}
	return nil
}
