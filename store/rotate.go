package store

import (
	"context"
	"net/url"
)

// Stores a proxy's rotateUrl. It is a secret like a password: user info, path or query contain what identifies the
// customer to the seller. The column rotate_url holds the public part. rotate_sealed holds the whole address where it
// differs.

// ShownRotateURL returns the public part of a rotateUrl: scheme and host. An address without other parts is returned
// unchanged.
func ShownRotateURL(address string) string {
	u, err := url.Parse(address)
	switch {
	case address == "":
		return ""
	case err != nil || u.Host == "":
		return "***"
	case u.User == nil && (u.Path == "" || u.Path == "/") && u.RawQuery == "" && u.Fragment == "":
		return address
	}
	return u.Scheme + "://" + u.Host + "/***"
}

// SealRotateURL returns both columns of a rotateUrl.
func (s *Store) SealRotateURL(proxyID, address string) (shown string, sealed []byte, err error) {
	if shown = ShownRotateURL(address); shown == address {
		return shown, nil, nil
	}
	sealed, err = s.Seal("proxies", "rotate_url", proxyID, []byte(address))
	return shown, sealed, err
}

// RotateURL returns a proxy's whole rotateUrl.
func (s *Store) RotateURL(p Proxy) (string, error) {
	if p.RotateSealed == nil {
		return p.RotateURL, nil
	}
	plain, err := s.Unseal("proxies", "rotate_url", p.ID, p.RotateSealed)
	return string(plain), err
}

// sealRotateURLs seals the plain addresses of a batch behind the id after. It returns the batch's last id.
func (s *Store) sealRotateURLs(ctx context.Context, q *Queries, after string) (last string, n int, err error) {
	rows, err := q.ListPlainRotateURLs(ctx, ListPlainRotateURLsParams{After: after, Limit: stepRows})
	for _, r := range rows {
		last = r.ID
		shown, sealed, err := s.SealRotateURL(r.ID, r.RotateURL)
		if err != nil {
			return last, 0, err
		}
		if sealed == nil {
			continue
		}
		if _, err := q.SealRotateURLOfProxy(ctx, SealRotateURLOfProxyParams{RotateURL: shown, RotateSealed: sealed, ID: r.ID}); err != nil {
			return last, 0, err
		}
	}
	return last, len(rows), err
}
