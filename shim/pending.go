package shim

import (
	"errors"
	"fmt"
	"time"

	"warren/state"
)

// Cookies that were written before the profile's browser ran: they wait beside its data as the note of a write, and the next start sets
// them before any page loads.

// PendCookies notes cookies for the next start of a profile. Its folder must be there.
func PendCookies(profileDir, profileID string, key []byte, all []state.Cookie) error {
	k := &stateKeeper{folder: profileDir, profile: profileID, key: key}
	return k.noteState(stateNote{Write: StateWrite{Set: all}, AtStart: true})
}

// CookiesPend reports whether cookies wait for the next start of a profile. A note that cannot be read is PendingState's.
func CookiesPend(profileDir, profileID string, key []byte) bool {
	n, err := readStateNote(profileDir, profileID, key)
	return err == nil && n.pends()
}

func (n *stateNote) pends() bool {
	return n != nil && n.AtStart && n.Done.IsZero() && len(n.Write.Set) > 0
}

// startCookies returns what the browser sets before any page loads; none: nothing.
func (s Spec) startCookies() (all []state.Cookie, err error) {
	if s.RestoreCookies {
		k, err := ReadCookies(s.ProfileDir, s.ProfileID, s.CookieKey)
		if err != nil {
			return nil, err
		}
		if k == nil {
			return nil, errors.New("there are no kept cookies")
		}
		all = k.Cookies
	}
	if s.PendingCookies {
		n, err := readStateNote(s.ProfileDir, s.ProfileID, s.CookieKey)
		if err != nil {
			return nil, err
		}
		if !n.pends() {
			return nil, errors.New("there are no cookies that wait for a start")
		}
		all = append(all, n.Write.Set...)
	}
	return all, nil
}

// pendingSet notes that the browser has the cookies that waited. The note stays until Chrome has written them.
func (k *stateKeeper) pendingSet() error {
	n, err := readStateNote(k.folder, k.profile, k.key)
	if err == nil && n.pends() {
		n.Done = time.Now()
		err = k.noteState(*n)
	}
	if err != nil {
		return fmt.Errorf("note that the cookies are set: %w", err)
	}
	return nil
}
