package runs

import (
	"context"
	"path/filepath"

	"warren/shim"
	"warren/state"
	"warren/store"
)

// Reads and changes the passkeys of profiles, running or not. A run's process keeps their file up to date.

// PasskeyPlan decides by the passkeys that are there which are set, and which are removed, by their ids.
type PasskeyPlan func(have []state.Credential) (set []state.Credential, remove []string, err error)

// Passkeys returns the passkeys of a profile with their private keys. The error is passkeys_unreadable.
func (m *Manager) Passkeys(ctx context.Context, row store.Profile) ([]state.Credential, error) {
	folder := m.profileDir(row.ID)
	there := !isMissing(filepath.Join(folder, "chrome"))
	if !there && row.HeadID == nil {
		return nil, nil
	}
	if !there { // a copy that has not been unpacked
		head, err := m.snapshots.Get(ctx, store.All(), row.ID, *row.HeadID)
		if err != nil {
			return nil, err
		}
		return m.PasskeysIn(ctx, head)
	}
	key, err := m.snapshots.PasskeyKey(ctx, row.WorkspaceID, shim.PasskeyKeySize)
	if err != nil {
		return nil, err
	}
	all, err := shim.ReadPasskeys(folder, key)
	if err != nil {
		return nil, PasskeysUnreadable().Because(err)
	}
	return all, nil
}

// PasskeysIn returns the passkeys that a snapshot has.
func (m *Manager) PasskeysIn(ctx context.Context, s store.Snapshot) ([]state.Credential, error) {
	sealed, err := m.snapshots.File(ctx, s, passkeysPath, shim.MaxPasskeysFile)
	if err != nil || sealed == nil {
		return nil, err
	}
	key, err := m.snapshots.PasskeyKey(ctx, s.WorkspaceID, shim.PasskeyKeySize)
	if err != nil {
		return nil, err
	}
	all, err := shim.OpenPasskeys(key, sealed)
	if err != nil {
		return nil, PasskeysUnreadable().Because(err)
	}
	return all, nil
}

// PasskeyFiles returns the files that data from elsewhere have in a workspace, by their paths: those of these passkeys, or none of them. A
// file of passkeys that came along is sealed with a key that is not here.
func (m *Manager) PasskeyFiles(ctx context.Context, workspace string, all []state.Credential) (map[string][]byte, error) {
	if len(all) == 0 {
		return map[string][]byte{passkeysPath: nil}, nil
	}
	key, err := m.snapshots.PasskeyKey(ctx, workspace, shim.PasskeyKeySize)
	if err != nil {
		return nil, err
	}
	sealed, err := shim.SealPasskeys(key, all)
	return map[string][]byte{passkeysPath: sealed}, err
}

// DeletePasskey removes a passkey by its id, in all pages of a running browser at once. What is not there is none.
func (m *Manager) DeletePasskey(ctx context.Context, row store.Profile, id string) error {
	remove := []string{id}
	return m.withProfile(ctx, row, func(c *shim.Client) error {
		_, err := c.WriteState(context.WithoutCancel(ctx), shim.StateWrite{RemovePasskeys: remove})
		return stateProblem(err)
	}, func() error {
		row, err := m.profile(ctx, store.All(), row.ID)
		if err != nil {
			return err
		}
		data, err := m.prepareData(ctx, row, Options{}) // a write that was cut off comes first
		if err != nil {
			return err
		}
		unlock, err := m.lockFolder(row.ID)
		if err != nil {
			return err
		}
		defer unlock()
		return shim.ChangePasskeys(m.profileDir(row.ID), data.passkeyKey, nil, remove)
	})
}
