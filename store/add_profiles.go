package store

import (
	"context"

	"github.com/go-json-experiment/json"
)

// NewProfile is what one profile has of its own among many that are made at once.
type NewProfile struct {
	ID      string
	Name    string
	ProxyID *string // nil: direct
}

// AddProfiles inserts profiles that share every other column with one statement. It sets shared.Profiles. Their texts
// must be UTF-8.
func (q *Queries) AddProfiles(ctx context.Context, shared InsertProfilesParams, profiles []NewProfile) error {
	list := make([][4]any, len(profiles))
	notes := Fold(shared.Notes)
	for i, p := range profiles {
		list[i] = [4]any{p.ID, p.Name, Fold(p.Name) + "\n" + notes, p.ProxyID}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	shared.Profiles = string(text)
	return q.InsertProfiles(ctx, shared)
}
