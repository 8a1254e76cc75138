package snapshots

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"warren/packs"
	"warren/store"
)

// asideFolder holds what was damaged and left the profile's data, each time in a folder of its own. It is at the top of a profile's
// folder, so that no snapshot has it, and stays there until the profile is deleted for good.
const asideFolder = "set-aside"

// CookieKey returns the key that the cookies of a running profile are sealed with. It follows from the secret of the workspace.
func (k *Keeper) CookieKey(ctx context.Context, workspace, profileID string, size int) ([]byte, error) {
	secret, err := k.secret(ctx, workspace)
	if err != nil {
		return nil, err
	}
	return hkdf.Key(sha256.New, secret, nil, "warren cookies "+profileID, size)
}

// PasskeyKey returns the key that the passkeys of a workspace's profiles are sealed with. It follows from the secret of the workspace
// alone, so that copies of a profile's data can be opened.
func (k *Keeper) PasskeyKey(ctx context.Context, workspace string, size int) ([]byte, error) {
	secret, err := k.secret(ctx, workspace)
	if err != nil {
		return nil, err
	}
	return hkdf.Key(sha256.New, secret, nil, "warren passkeys", size)
}

// File returns the bytes of one file of a snapshot, which may have most of them; nil: the snapshot does not have it.
func (k *Keeper) File(ctx context.Context, s store.Snapshot, at string, most int64) ([]byte, error) {
	v, _, err := k.vault(ctx, s.WorkspaceID)
	if err != nil {
		return nil, err
	}
	t, err := k.tree(ctx, v, s)
	var content []byte
	if err == nil {
		content, err = v.File(ctx, t, at, most)
	}
	if t != nil && errors.Is(err, packs.ErrNone) && !hasFile(t, at) {
		return nil, nil
	}
	return content, k.problemOf(err)
}

func hasFile(t *packs.Tree, at string) bool {
	return slices.ContainsFunc(t.Files, func(f packs.File) bool { return f.Path == at })
}

// SetAside moves damaged parts out of a profile's data, with what lies beside databases, and returns where they are. Nothing is
// deleted. The profile must not run.
func (k *Keeper) SetAside(profileID string, all []Damage) (where string, err error) {
	root, err := os.OpenRoot(k.profileDir(profileID))
	if err != nil {
		return "", k.problemOf(err)
	}
	defer root.Close() //nolint:errcheck // nothing is written through it
	into := filepath.Join(asideFolder, store.NewID())
	for _, d := range all {
		above := filepath.FromSlash(path.Dir(d.File))
		if err := root.MkdirAll(filepath.Join(into, above), 0o700); err != nil {
			return "", k.problemOf(err)
		}
		for _, ending := range []string{"", "-journal", "-wal", "-shm"} {
			at := filepath.FromSlash(d.File + ending)
			err := root.Rename(filepath.Join(ofChrome, at), filepath.Join(into, at))
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // what is gone is a damage too
				return "", k.problemOf(err)
			}
		}
	}
	return filepath.Join(k.profileDir(profileID), into), nil
}
