package proxy

import (
	"fmt"
	"io"
	"net/netip"

	"github.com/oschwald/maxminddb-golang/v2"
)

//go:generate go run mkzones.go

// OpenGeo opens an MMDB file of any maker (MaxMind, DB-IP, IPinfo and others name the same things differently) and
// returns a look-up for Checker.Geo. The look-up is safe for concurrent use until the file is closed. The
// file is mapped into memory: a newer one has to replace it by renaming, not by being written over it.
func OpenGeo(path string) (func(netip.Addr) (Place, bool), io.Closer, error) {
	db, err := maxminddb.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("proxy: the geo database %s cannot be read: %w", path, err)
	}
	return func(a netip.Addr) (Place, bool) {
		var m map[string]any
		if r := db.Lookup(a.Unmap()); !r.Found() || r.Decode(&m) != nil {
			return Place{}, false
		}
		p := placeOf(m)
		return p, p != Place{}
	}, db, nil
}
