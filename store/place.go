package store

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// Finds the position at which a list continues. An id works while its row exists. A place also carries the key that
// the list is sorted by, and works after its row is deleted.

// Place is the position of a row in a list. The list continues behind it.
type Place struct {
	Order  string `json:"o"`           // of the list
	Number int64  `json:"n,omitempty"` // the key: Number or Text
	Text   string `json:"t,omitempty"`
	None   bool   `json:"x,omitempty"` // the row lacks the key
	ID     string `json:"-"`
}

// String encodes a place for clients: <key>.<id>.
func (p Place) String() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // it always encodes
	}
	return base64.RawURLEncoding.EncodeToString(text) + "." + p.ID
}

// parsePlace decodes what String encoded. ok is false for anything else, which is an id.
func parsePlace(after string) (p Place, ok bool) {
	key, id, ok := strings.Cut(after, ".")
	if !ok || id == "" {
		return p, false
	}
	text, err := base64.RawURLEncoding.DecodeString(key)
	if err != nil || json.Unmarshal(text, &p) != nil || p.Order == "" {
		return p, false
	}
	p.ID = id
	return p, true
}

// ErrGone is the error for an id whose row was deleted, and for a place of a list in another order. The position is
// unknown then.
var ErrGone = errors.New("the row is gone")

// After returns the position at which a list continues. find returns the place of an existing row, and ErrNoRow for
// any other id. A deleted row is ErrGone. An id that never existed, or is in a workspace that the key cannot see, is
// ErrNoRow.
func (s *Store) After(ctx context.Context, after, order, kind string, workspaces *string,
	find func(id string) (Place, error)) (Place, error) {
	if p, ok := parsePlace(after); ok {
		if p.Order != order {
			return p, ErrGone
		}
		return p, nil
	}
	p, err := find(after)
	if !errors.Is(err, ErrNoRow) {
		return p, err
	}
	gone, failed := s.short.WasDeleted(ctx, WasDeletedParams{ID: after, Kind: kind, Workspaces: workspaces})
	switch {
	case failed != nil:
		return p, Typed(failed)
	case gone > 0:
		return p, ErrGone
	}
	return p, ErrNoRow
}

// deletedRetention is how long deleted ids are kept. No client takes longer to page through a list.
const deletedRetention = 7 * 24 * time.Hour

// ForgetGone removes the ids that were deleted longer ago.
func (s *Store) ForgetGone(ctx context.Context) error {
	return s.Write(ctx, func(q *Queries) error {
		_, err := q.ForgetDeleted(ctx, time.Now().Add(-deletedRetention).UnixMilli())
		return err
	})
}
