package browser

import (
	"context"
	"errors"
	"fmt"

	"warren/state"
)

// Reads a profile's cookies while its browser runs, and gives a browser back those that it has lost. Clients notice neither.

// Cookies returns the cookies of the profile, not those of clients' own contexts.
func (b *Browser) Cookies(ctx context.Context) ([]state.Cookie, error) {
	var got struct {
		Cookies []state.Cookie `json:"cookies"`
	}
	err := b.mux.call(ctx, "", "Storage.getCookies", struct{}{}, &got)
	return got.Cookies, err
}

// WriteCookies sets cookies, and removes others. refused says why Chrome did not take one of those to set, by its index. What is there
// afterwards decides: Chrome drops some cookies without an error.
func (b *Browser) WriteCookies(ctx context.Context, set, remove []state.Cookie) (refused map[int]string, err error) {
	m := b.mux
	params := make([]cookieParam, 0, len(remove)+len(set))
	for _, c := range remove {
		p := paramOf(c)
		p.Expires = new(1.0) // Chrome removes what has expired; CDP's own removal does not know the partition of all versions
		params = append(params, p)
	}
	for _, c := range set {
		params = append(params, paramOf(c))
	}
	if len(params) == 0 {
		return nil, nil
	}
	refused = map[int]string{}
	if m.setCookies(ctx, params) != nil { // one is not well formed, and none was set
		for i := range params {
			err := m.setCookies(ctx, params[i:i+1])
			if _, said := errors.AsType[*ProtocolError](err); err != nil && !said {
				return nil, err
			}
			if err != nil && i >= len(remove) {
				refused[i-len(remove)] = "the browser refuses it"
			}
		}
	}
	there, err := b.Cookies(ctx)
	if err != nil {
		return nil, err
	}
	kept := map[state.Key]bool{}
	for _, c := range there {
		kept[c.Key()] = true
	}
	for i, c := range set {
		if refused[i] == "" && !kept[c.Key()] {
			refused[i] = "the browser did not keep it: it has expired, or its domain has too many"
		}
	}
	return refused, nil
}

// restoreCookies sets cookies. One that Chrome refuses keeps no other from being set, and no browser from starting. refused counts them.
func (m *mux) restoreCookies(ctx context.Context, all []state.Cookie) (refused int, err error) {
	params := make([]cookieParam, 0, len(all))
	for _, c := range all {
		if !c.Opaque {
			params = append(params, paramOf(c))
		}
	}
	if len(params) == 0 || m.setCookies(ctx, params) == nil {
		return 0, nil
	}
	for i := range params {
		err := m.setCookies(ctx, params[i:i+1])
		if _, said := errors.AsType[*ProtocolError](err); err != nil && !said {
			return 0, fmt.Errorf("set cookie %d of %d: %w", i+1, len(params), err)
		}
		if err != nil {
			refused++
		}
	}
	return refused, nil
}

func (m *mux) setCookies(ctx context.Context, params []cookieParam) error {
	return m.call(ctx, "", "Storage.setCookies", map[string]any{"cookies": params}, nil)
}
