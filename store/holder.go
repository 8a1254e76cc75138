package store

import (
	"context"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
)

// Right is what a key allows. The API calls it a scope.
type Right string

// The rights.
const (
	MayRead    Right = "read"
	MayRun     Right = "run"
	MayWrite   Right = "write"
	MayFiles   Right = "files"
	MaySecrets Right = "secrets"
	MayAdmin   Right = "admin"

	MayAny Right = "any" // what every key allows
)

// AllRights are those that a key can have.
func AllRights() []Right {
	return []Right{MayRead, MayRun, MayWrite, MayFiles, MaySecrets, MayAdmin}
}

// Holder is who has a key.
type Holder struct {
	KeyID   string
	Rights  []Right
	Sees    Scope     // the workspaces
	Expires time.Time // zero: never
}

// Has says whether the key allows want: admin contains the others, run and write contain read.
func (h Holder) Has(want Right) bool {
	return slices.ContainsFunc(h.Rights, func(r Right) bool {
		return r == want || want == MayAny || r == MayAdmin || want == MayRead && (r == MayRun || r == MayWrite)
	})
}

// Expired says whether the key's time is over.
func (h Holder) Expired() bool { return !h.Expires.IsZero() && time.Now().After(h.Expires) }

// Holder reads what a key's row allows.
func (k Key) Holder() (Holder, error) {
	h := Holder{KeyID: k.ID, Sees: All()}
	if err := json.Unmarshal([]byte(k.Scopes), &h.Rights); err != nil {
		return Holder{}, err
	}
	if k.Workspaces != nil {
		var ids []string
		if err := json.Unmarshal([]byte(*k.Workspaces), &ids); err != nil {
			return Holder{}, err
		}
		h.Sees = Only(ids)
	}
	if k.ExpiresAt != nil {
		h.Expires = time.UnixMilli(*k.ExpiresAt)
	}
	return h, nil
}

// HolderOf is who has a key now. A key that is unknown, revoked or expired is ErrNoRow.
func (s *Store) HolderOf(ctx context.Context, keyID string) (Holder, error) {
	row, err := s.Read().GetKey(ctx, GetKeyParams{ID: keyID})
	if err != nil {
		return Holder{}, err
	}
	h, err := row.Holder()
	if err == nil && (row.RevokedAt != nil || h.Expired()) {
		err = ErrNoRow
	}
	return h, err
}
