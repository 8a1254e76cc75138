package store

import (
	"context"
	"slices"
	"sync"
)

// Caches rows of profiles for the lists. Reading a row's thirty columns costs several times what finding the row
// does. So a list reads ids and versions, and takes rows of the same version from here. The cache needs no
// invalidation: a trigger increases a row's version on every change.

// place is a row that a list has found.
type place struct {
	ID      string
	Version int64
}

// places converts the generated row types to place.
func places[T ~struct {
	ID      string
	Version int64
}](rows []T, err error) ([]place, error) {
	out := make([]place, len(rows))
	for i, row := range rows {
		out[i] = place(row)
	}
	return out, err
}

// rowCacheBytes is the approximate size of the cached rows in bytes. There are two generations. A full younger one
// replaces the older one, which drops the rows that were not used since.
const rowCacheBytes = 16 << 20

// rowCache is safe for concurrent use.
type rowCache struct {
	mu             sync.Mutex
	younger, older map[string]*Profile
	size           int // of younger, bytes
}

func newRowCache() *rowCache { return &rowCache{younger: map[string]*Profile{}} }

// get fills in the cached rows of the wanted versions, and returns the ids of the others.
func (c *rowCache) get(wanted []place, rows []Profile) (missing []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, w := range wanted {
		row, ok := c.younger[w.ID]
		if !ok {
			if row, ok = c.older[w.ID]; ok {
				c.put(row)
			}
		}
		if ok && row.Version == w.Version {
			rows[i] = *row
		} else {
			missing = append(missing, w.ID)
		}
	}
	return missing
}

func (c *rowCache) add(rows []Profile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range rows {
		c.put(&rows[i])
	}
}

func (c *rowCache) put(row *Profile) {
	if c.size > rowCacheBytes/2 {
		c.younger, c.older, c.size = map[string]*Profile{}, c.younger, 0
	}
	c.size += sizeOf(row)
	c.younger[row.ID] = row
}

// sizeOf returns the approximate size of a row: the struct with its short strings, and the strings that can be long.
func sizeOf(row *Profile) int {
	n := 1000 + len(row.Name) + len(row.Notes) + len(row.SearchKey) + len(row.Tags) + len(row.TagsKey) + len(row.StartURLs) +
		len(row.Locale) + len(row.AllowLocal) +
		len(row.AllowHosts) + len(row.DenyHosts) + len(row.LocalhostVia) + len(row.FallbackProxyIDs)
	if row.LastRun != nil {
		n += len(*row.LastRun)
	}
	return n
}

// rowsAt returns the rows at some places, in their order. A row that was deleted, or moved into or out of the trash
// since the places were read, is left out.
func (s *Store) rowsAt(ctx context.Context, wanted []place, f ProfileFilter) ([]Profile, error) {
	rows := make([]Profile, len(wanted))
	missing := s.rows.get(wanted, rows)
	if len(missing) > 0 {
		fresh, err := s.short.GetProfiles(ctx, GetProfilesParams{Ids: *jsonText(missing), Workspaces: f.Workspaces})
		if err != nil {
			return nil, err
		}
		s.rows.add(fresh)
		at := make(map[string]int, len(wanted))
		for i, w := range wanted {
			at[w.ID] = i
		}
		for _, row := range fresh {
			rows[at[row.ID]] = row
		}
	}
	return slices.DeleteFunc(rows, func(row Profile) bool { return row.ID == "" || row.Trashed != f.Trashed }), nil
}
