package browser

import (
	"context"
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

// restoreCookies sets cookies. One that Chrome refuses, such as one that has expired, keeps no other from being set.
func (m *mux) restoreCookies(ctx context.Context, all []state.Cookie) error {
	params := make([]cookieParam, 0, len(all))
	for _, c := range all {
		if !c.Opaque {
			params = append(params, paramOf(c))
		}
	}
	if len(params) == 0 || m.setCookies(ctx, params) == nil {
		return nil
	}
	refused := 0
	for i := range params {
		if m.setCookies(ctx, params[i:i+1]) != nil {
			refused++
		}
	}
	if ctx.Err() != nil || refused == len(params) {
		return fmt.Errorf("none of %d cookies could be restored", len(params))
	}
	return nil
}

func (m *mux) setCookies(ctx context.Context, params []cookieParam) error {
	return m.call(ctx, "", "Storage.setCookies", map[string]any{"cookies": params}, nil)
}
