package store

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// This file is about where a walk through a list goes on. An id is enough while its row is there. A place carries the key that the list is sorted
// by as well, and serves also when its row is gone.

// Place is where a row stands in a list. What follows is beyond it.
type Place struct {
	Order  string `json:"o"`           // of the list
	Number int64  `json:"n,omitempty"` // the key; one of the two
	Text   string `json:"t,omitempty"`
	None   bool   `json:"x,omitempty"` // the row lacks what is sorted by
	ID     string `json:"-"`
}

// String is a place as a client gets it: <key>.<id>.
func (p Place) String() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // it always encodes
	}
	return base64.RawURLEncoding.EncodeToString(text) + "." + p.ID
}

// parsePlace reads what String wrote. What is anything else is taken as an id.
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

// ErrGone is the answer to an id whose row has been deleted, and to a place in a list of another order: where the walk goes on is not known.
var ErrGone = errors.New("the row is gone")

// After finds where a list goes on. find gives the place of a row that is there, with ErrNoRow for any other. An id that was never one, or is in
// a workspace that is not among these, is ErrNoRow too; one that was deleted is ErrGone.
func (s *Store) After(ctx context.Context, after, order, kind string, workspaces *string, find func(id string) (Place, error)) (Place, error) {
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

// goneFor is for how long it is known which rows were deleted. A walk does not take longer.
const goneFor = 7 * 24 * time.Hour

// ForgetGone forgets those that were deleted long ago.
func (s *Store) ForgetGone(ctx context.Context) error {
	return s.Write(ctx, func(q *Queries) error {
		_, err := q.ForgetDeleted(ctx, time.Now().Add(-goneFor).UnixMilli())
		return err
	})
}
