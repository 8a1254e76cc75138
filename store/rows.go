package store

import (
	"context"
)

// Reads rows through the caches.

// Profile returns a profile outside the trash, or one inside it, that the scope sees. It fails with ErrNoRow if there is
// none. What the row points to must not be changed.
func (s *Store) Profile(ctx context.Context, sees Scope, id string, trashed bool) (Profile, error) {
	if err := s.engine.catchUp(ctx); err != nil {
		return Profile{}, err
	}
	row := s.profiles.get(id)
	if row == nil {
		read := s.profiles.read()
		fresh, err := s.short.GetProfileAny(ctx, GetProfileAnyParams{ID: id})
		if err != nil {
			s.profiles.done(read)
			return Profile{}, Typed(err)
		}
		row = &fresh
		s.profiles.done(read, row)
	}
	if row.Trashed != trashed || !sees.Sees(row.WorkspaceID) {
		return Profile{}, ErrNoRow
	}
	return *row, nil
}

// profilesAt returns the rows of some ids, in their order. A row that was deleted, or moved into or out of the trash
// since the ids were found, is left out. The caller has brought what lies in memory in step.
func (s *Store) profilesAt(ctx context.Context, ids []string, trashed bool) ([]Profile, error) {
	rows, err := rowsAt(s.profiles, ids, func(missing string) ([]Profile, error) {
		return s.short.GetProfiles(ctx, GetProfilesParams{Ids: missing})
	})
	out := make([]Profile, 0, len(rows))
	for _, row := range rows {
		if row.Trashed == trashed {
			out = append(out, *row)
		}
	}
	return out, err
}

// ProxiesAt returns the proxies of some ids that the scope sees, in their order. Proxies that have been deleted
// meanwhile are left out. What the rows point to must not be changed.
func (s *Store) ProxiesAt(ctx context.Context, ids []string, sees Scope) ([]Proxy, error) {
	if err := s.engine.catchUp(ctx); err != nil {
		return nil, err
	}
	return s.proxiesAt(ctx, ids, sees)
}

// proxiesAt is ProxiesAt after a list that has brought what lies in memory in step.
func (s *Store) proxiesAt(ctx context.Context, ids []string, sees Scope) ([]Proxy, error) {
	rows, err := rowsAt(s.proxies, ids, func(missing string) ([]Proxy, error) {
		return s.short.GetProxies(ctx, GetProxiesParams{Ids: missing})
	})
	out := make([]Proxy, 0, len(rows))
	for _, row := range rows {
		if sees.Sees(row.WorkspaceID) {
			out = append(out, *row)
		}
	}
	return out, err
}

// rowsAt returns the rows of some ids, in their order. read reads those that are not cached: a JSON array of ids.
func rowsAt[T any](c *cache[T], ids []string, read func(ids string) ([]T, error)) ([]*T, error) {
	found, missing, reading := c.getAll(ids)
	if len(missing) == 0 {
		return found, nil
	}
	fresh, err := read(*jsonText(missing))
	if err != nil {
		c.done(reading)
		return nil, Typed(err)
	}
	byID := make(map[string]*T, len(fresh))
	rows := make([]*T, 0, len(ids))
	for i := range fresh {
		id, _ := c.describe(&fresh[i])
		byID[id] = &fresh[i]
		rows = append(rows, &fresh[i])
	}
	c.done(reading, rows...)
	rows = rows[:0]
	for i, id := range ids {
		row := found[i]
		if row == nil {
			row = byID[id]
		}
		if row != nil {
			rows = append(rows, row)
		}
	}
	return rows, nil
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
