package runs

import (
	"context"

	"warren/shim"
	"warren/state"
	"warren/store"
)

// Reads and writes the cookies and the storage of profiles, running or not.

type (
	// StorageFault is what could not be read or written of an origin.
	StorageFault = shim.StorageFault

	// StorageOptions says what is read of a profile's state.
	StorageOptions struct {
		Domains                          []string // of the origins, with their subdomains; none: all
		Cookies, LocalStorage, IndexedDB bool
		Passkeys                         bool
	}

	// StorageState is the state of a profile.
	StorageState struct {
		Cookies     []state.Cookie
		Origins     []state.Origin
		Failed      []StorageFault
		Partitioned int // stores within other sites' pages, which are left out
		Passkeys    []state.Credential
	}

	// CookieChange says which cookies the browser did not take, by their index, and why.
	CookieChange struct{ Refused map[int]string }

	// StorageChange is a CookieChange, and what was not written of origins.
	StorageChange struct {
		CookieChange
		Failed []StorageFault
	}

	// CookiePlan decides by the cookies that are there which are set and which removed. An error ends the change before it begins.
	CookiePlan func(have []state.Cookie) (set, remove []state.Cookie, err error)
)

// Cookies returns the cookies of a profile.
func (m *Manager) Cookies(ctx context.Context, row store.Profile) ([]state.Cookie, error) {
	s, err := m.Storage(ctx, row, StorageOptions{Cookies: true})
	if err != nil {
		return nil, err
	}
	return s.Cookies, nil
}

// ChangeCookies changes the cookies of a profile. After a crash all of the change is there, or none of it.
func (m *Manager) ChangeCookies(ctx context.Context, row store.Profile, plan CookiePlan) (CookieChange, error) {
	c, err := m.SetStorage(ctx, row, plan, nil, nil, state.Merge)
	return c.CookieChange, err
}

// Storage reads the state of a profile.
func (m *Manager) Storage(ctx context.Context, row store.Profile, o StorageOptions) (*StorageState, error) {
	var got shim.ProfileState
	err := m.withBrowser(ctx, row, func(c *shim.Client) (err error) {
		got, err = c.ReadState(ctx, shim.StateRead{Cookies: o.Cookies, LocalStorage: o.LocalStorage, IndexedDB: o.IndexedDB,
			Domains: o.Domains})
		return stateProblem(err)
	})
	out := &StorageState{got.Cookies, got.Origins, got.Faults, got.Partitioned, nil}
	if err == nil && o.Passkeys {
		out.Passkeys, err = m.Passkeys(ctx, row)
	}
	return out, err
}

// SetStorage changes cookies and passkeys as the plans say, and writes what origins keep. With any mode but Merge, what else these origins
// have is removed. Without a plan the passkeys stay. After a crash all of the change is there, or none of it.
func (m *Manager) SetStorage(ctx context.Context, row store.Profile, plan CookiePlan, passkeys PasskeyPlan, origins []state.Origin,
	mode state.Mode) (out StorageChange, err error) {
	err = m.withBrowser(ctx, row, func(c *shim.Client) error {
		have, err := c.ReadState(ctx, shim.StateRead{Cookies: true})
		if err != nil {
			return stateProblem(err)
		}
		set, remove, err := plan(have.Cookies)
		if err != nil {
			return err
		}
		write := shim.StateWrite{Set: set, Remove: remove, Origins: origins, Replace: mode != state.Merge}
		if passkeys != nil {
			have, err := m.Passkeys(ctx, row)
			if err != nil {
				return err
			}
			if write.SetPasskeys, write.RemovePasskeys, err = passkeys(have); err != nil {
				return err
			}
		}
		if len(set)+len(remove)+len(origins)+len(write.SetPasskeys)+len(write.RemovePasskeys) == 0 {
			return nil
		}
		// a write that has begun is not given up because its caller has gone
		done, err := c.WriteState(context.WithoutCancel(ctx), write)
		out = StorageChange{CookieChange{done.Refused}, done.Faults}
		return stateProblem(err)
	})
	return out, err
}
