// Package state has the values of a profile's state, cookies and storage, and reads and writes them in the formats of other programs. It
// knows no browser and no files.
package state

// Cookie is a cookie as Chrome tells it (CDP Network.Cookie), with all that it takes to be set again.
type Cookie struct {
	Name         string        `json:"name"`
	Value        string        `json:"value"`
	Domain       string        `json:"domain"` // without a dot in front: of this host alone
	Path         string        `json:"path"`
	Expires      float64       `json:"expires"` // seconds since 1970
	Session      bool          `json:"session"` // it has no expiry
	HTTPOnly     bool          `json:"httpOnly"`
	Secure       bool          `json:"secure"`
	SameSite     string        `json:"sameSite,omitempty"`     // Strict, Lax or None; "": not given
	Priority     string        `json:"priority,omitempty"`     // Low, Medium or High
	SourceScheme string        `json:"sourceScheme,omitempty"` // Unset, NonSecure or Secure
	SourcePort   int           `json:"sourcePort,omitempty"`   // -1: not known
	PartitionKey *PartitionKey `json:"partitionKey,omitempty"` // nil: not partitioned
	Opaque       bool          `json:"partitionKeyOpaque,omitempty"`
}

// PartitionKey says to which site's pages a cookie belongs (CHIPS, CDP Network.CookiePartitionKey).
type PartitionKey struct {
	TopLevelSite         string `json:"topLevelSite"` // scheme and registrable domain, such as https://example.com
	HasCrossSiteAncestor bool   `json:"hasCrossSiteAncestor"`
}

// Key identifies a cookie among those of a profile.
type Key struct {
	Name, Domain, Path string
	Partition          PartitionKey // zero: none
}

// Key returns what identifies the cookie: a cookie with the same key replaces it (RFC 6265, 5.3).
func (c Cookie) Key() Key {
	k := Key{Name: c.Name, Domain: c.Domain, Path: c.Path}
	if c.PartitionKey != nil {
		k.Partition = *c.PartitionKey
	}
	return k
}
