package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"

	"warren/state"
)

// Keeps the passkeys of a profile in a file of Chrome's user data, so that snapshots, clones and roll-backs have it. Chrome leaves files
// alone that it does not know.
//
// It is sealed with a key of the workspace, and not of the profile: copies must open it. The run can write that folder, so no link is
// followed out of it.

// PasskeysFile is the name of the file, in Chrome's user data.
const PasskeysFile = "warren-passkeys.sealed"

// PasskeyKeySize is the length in bytes of the key that passkeys are sealed with.
const PasskeyKeySize = CookieKeySize

// MaxPasskeysFile bounds the file in bytes. A thousand passkeys with keys of RSA take less.
const MaxPasskeysFile = 16 << 20

func passkeysSealedFor() []byte { return []byte("warren passkeys") }

// SealPasskeys returns the content of a file of passkeys.
func SealPasskeys(key []byte, all []state.Credential) ([]byte, error) {
	seal, err := cookieCipher(key)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return seal.Seal(nil, nil, text, passkeysSealedFor()), nil
}

// OpenPasskeys reads the content of a file of passkeys.
func OpenPasskeys(key, sealed []byte) (all []state.Credential, err error) {
	seal, err := cookieCipher(key)
	if err != nil {
		return nil, err
	}
	text, err := seal.Open(nil, nil, sealed, passkeysSealedFor())
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, errors.New("the passkeys cannot be opened") // a fault of JSON may repeat what it has read
	}
	return all, nil
}

// ReadPasskeys returns the passkeys of a profile; none without a file. The error says that they cannot be opened.
func ReadPasskeys(profileDir string, key []byte) ([]state.Credential, error) {
	root, err := os.OpenRoot(userDataDir(profileDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // it was only read
	info, err := root.Lstat(PasskeysFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && (!info.Mode().IsRegular() || info.Size() > MaxPasskeysFile):
		err = errors.New("the file of passkeys is none of ours")
	}
	if err != nil {
		return nil, err
	}
	f, err := root.Open(PasskeysFile)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	sealed, err := io.ReadAll(io.LimitReader(f, MaxPasskeysFile))
	if err != nil {
		return nil, err
	}
	return OpenPasskeys(key, sealed)
}

// ChangePasskeys adds passkeys of a profile whose browser does not have them, in place of those with their ids, and removes others by
// their ids. After a crash there is the list before or the list after. A file that cannot be opened stays as it is.
func ChangePasskeys(profileDir string, key []byte, set []state.Credential, remove []string) error {
	all, err := ReadPasskeys(profileDir, key)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(c state.Credential) bool {
		return slices.Contains(remove, c.ID) || slices.ContainsFunc(set, func(n state.Credential) bool { return n.ID == c.ID })
	})
	return writePasskeys(profileDir, key, append(all, set...))
}

// writePasskeys replaces the passkeys of a profile. They are on the disk when it returns.
func writePasskeys(profileDir string, key []byte, all []state.Credential) error {
	sealed, err := SealPasskeys(key, all)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(userDataDir(profileDir))
	if err != nil {
		return err
	}
	defer root.Close()                 //nolint:errcheck // what was written through it is synced
	const half = PasskeysFile + ".tmp" // no snapshot keeps it
	if err := root.Remove(half); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(half, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(sealed)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(half, PasskeysFile)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keep the passkeys: %w", err), root.Remove(half))
	}
	if runtime.GOOS == "windows" { // folders cannot be flushed there
		return nil
	}
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
