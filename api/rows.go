package api

import (
	"context"
	"errors"
	"warren/problem"
	"warren/store"
)

// Reads the database rows that requests name.

// profileRow returns a profile that the caller sees, from the trash when trashed is set. The error is a problem.NotFound when there
// is none.
func (s *API) profileRow(ctx context.Context, id string, trashed bool) (store.Profile, error) {
	row, err := s.store.Read().GetProfileAny(ctx, store.GetProfileAnyParams{ID: id, Workspaces: callerOf(ctx).Sees.Filter()})
	if err == nil && trashed != (row.TrashedAt != nil) {
		err = store.ErrNoRow
	}
	return row, orNotFound(err, "profile")
}

// orNotFound maps store.ErrNoRow to a 404 for the kind of object. Other errors stay as they are.
func orNotFound(err error, kind string) error {
	if errors.Is(err, store.ErrNoRow) {
		return problem.Missing(kind)
	}
	return err
}
