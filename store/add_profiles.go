package store

import "context"

// NewProfile is what one profile has of its own among many that are made at once.
type NewProfile struct {
	ID      string
	Name    string
	ProxyID *string // nil: direct
}

// AddProfiles inserts profiles that share every other column with one statement. It sets shared.Profiles. Their texts
// must be UTF-8.
func (q *Queries) AddProfiles(ctx context.Context, shared InsertProfilesParams, profiles []NewProfile) error {
	list, notes := newRowList(len(profiles)), Fold(shared.Notes)
	for _, p := range profiles {
		list.add(p.ID, p.Name, Fold(p.Name)+"\n"+notes, p.ProxyID)
	}
	var err error
	if shared.Profiles, err = list.text(); err != nil {
		return err
	}
	return q.InsertProfiles(ctx, shared)
}
