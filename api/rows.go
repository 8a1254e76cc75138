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
	q, c := s.store.Read(), callerOf(ctx)
	var row store.Profile
	var err error
	if trashed {
		row, err = q.GetProfileAny(ctx, store.GetProfileAnyParams{ID: id, Workspaces: c.Sees.Filter()})
		if err == nil && row.TrashedAt == nil {
			err = store.ErrNoRow
		}
	} else {
		row, err = q.GetProfile(ctx, store.GetProfileParams{ID: id, Workspaces: c.Sees.Filter()})
	}
	if errors.Is(err, store.ErrNoRow) {
		return row, problem.Missing("profile")
	}
	return row, err
}

// orNotFound maps store.ErrNoRow to a 404 for the kind of object. Other errors stay as they are.
func orNotFound(err error, kind string) error {
	if errors.Is(err, store.ErrNoRow) {
		return problem.Missing(kind)
	}
	return err
}
