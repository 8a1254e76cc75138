package store

import (
	"context"
	"net/url"
)

// This file keeps a proxy's rotateUrl. It is a secret as a password is: user info, path or query hold what its seller knows the customer by.
// The column rotate_url has what anybody may see, and rotate_sealed the whole where that is more.

// ShownRotateURL is a rotateUrl as those see it who may see no secrets: scheme and host. One that has no more is shown as it is.
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

// SealRotateURL gives both columns of a rotateUrl.
func (s *Store) SealRotateURL(proxyID, address string) (shown string, sealed []byte, err error) {
	if shown = ShownRotateURL(address); shown == address {
		return shown, nil, nil
	}
	sealed, err = s.Seal("proxies", "rotate_url", proxyID, []byte(address))
	return shown, sealed, err
}

// RotateURL gives a proxy's rotateUrl whole.
func (s *Store) RotateURL(p Proxy) (string, error) {
	if p.RotateSealed == nil {
		return p.RotateURL, nil
	}
	plain, err := s.Unseal("proxies", "rotate_url", p.ID, p.RotateSealed)
	return string(plain), err
}

// sealRotateURLs seals what stands in clear, from a place on; it gives the next place.
func (s *Store) sealRotateURLs(ctx context.Context, q *Queries, after string) (last string, n int, err error) {
	rows, err := q.ListPlainRotateURLs(ctx, ListPlainRotateURLsParams{After: after, Limit: refitPart})
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
