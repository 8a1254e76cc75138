package store

import (
	"maps"
	"sync"
)

// Caches rows. Reading a row's thirty columns costs several times what finding the row does. The writer drops the rows
// that it has changed, before it answers (follow.go).

// cacheBytes is the approximate size of the cached rows of a table in bytes. There are two generations. A full younger
// one replaces the older one, which drops the rows that were not used since.
const cacheBytes = 16 << 20

// cache holds rows by id. It is safe for concurrent use.
type cache[T any] struct {
	describe func(*T) (id string, size int) // the size in bytes, approximately

	mu             sync.Mutex
	younger, older map[string]*T
	size           int // of younger, bytes
	reads          map[*cacheRead]struct{}
}

// cacheRead is a read of rows from the database. A row that is dropped meanwhile may have been read as it was before.
type cacheRead struct {
	dropped map[string]struct{}
	all     bool // every row was dropped
}

func newCache[T any](describe func(*T) (string, int)) *cache[T] {
	return &cache[T]{describe: describe, younger: map[string]*T{},
		reads: map[*cacheRead]struct{}{}}
}

// get returns a cached row, which nobody may change. nil: it is not cached.
func (c *cache[T]) get(id string) *T {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.find(id)
}

func (c *cache[T]) find(id string) *T {
	row := c.younger[id]
	if row == nil {
		if row = c.older[id]; row != nil {
			c.put(row)
		}
	}
	return row
}

// getAll returns the cached rows of some ids, in their order, nil for the others, and begins a read of those.
func (c *cache[T]) getAll(ids []string) (rows []*T, missing []string, r *cacheRead) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rows = make([]*T, len(ids))
	for i, id := range ids {
		if rows[i] = c.find(id); rows[i] == nil {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		r = c.begin()
	}
	return rows, missing, r
}

// read begins a read of rows from the database. done must follow.
func (c *cache[T]) read() *cacheRead {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begin()
}

func (c *cache[T]) begin() *cacheRead {
	r := &cacheRead{dropped: map[string]struct{}{}}
	c.reads[r] = struct{}{}
	return r
}

// done ends a read, and caches its rows but those that were dropped meanwhile.
func (c *cache[T]) done(r *cacheRead, rows ...*T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.reads, r)
	for _, row := range rows {
		id, _ := c.describe(row)
		if _, old := r.dropped[id]; !old && !r.all {
			c.put(row)
		}
	}
}

func (c *cache[T]) put(row *T) {
	if c.size > cacheBytes/2 {
		c.younger, c.older, c.size = map[string]*T{}, c.younger, 0
	}
	id, size := c.describe(row)
	c.size += size
	c.younger[id] = row
}

// drop removes the rows of some ids.
func (c *cache[T]) drop(ids map[string]struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range ids {
		delete(c.younger, id)
		delete(c.older, id)
	}
	for r := range c.reads {
		maps.Copy(r.dropped, ids)
	}
}

// clear removes all rows.
func (c *cache[T]) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.younger, c.older, c.size = map[string]*T{}, nil, 0
	for r := range c.reads {
		r.all = true
	}
}

// describeProfile returns a row's id, and the size of the struct with its short strings and the strings that can be long.
func describeProfile(row *Profile) (id string, size int) {
	size = 1000 + len(row.Name) + len(row.Notes) + len(row.SearchKey) + len(row.Tags) + len(row.TagsKey) + len(row.StartURLs) +
		len(row.Locale) + len(row.AllowLocal) +
		len(row.AllowHosts) + len(row.DenyHosts) + len(row.LocalhostVia) + len(row.FallbackProxyIDs) +
		len(row.Extensions) + len(row.Args) + len(row.Sources)
	for _, text := range []*string{row.LastRun, row.Placement} {
		if text != nil {
			size += len(*text)
		}
	}
	return row.ID, size
}

// describeProxy is the same for a proxy.
func describeProxy(row *Proxy) (id string, size int) {
	size = 1000 + len(row.Host) + len(row.Username) + len(row.Password) + len(row.Name) + len(row.Tags) + len(row.Notes) +
		len(row.RotateURL) + len(row.RotateSealed) + len(row.Recent)
	if row.LastCheck != nil {
		size += len(*row.LastCheck)
	}
	return row.ID, size
}
