package runs

import (
	"warren/problem"
	"warren/shim"
	"warren/snapshots"
	"warren/store"
)

// passkeysPath is where the file of passkeys is in a snapshot.
const passkeysPath = "chrome/" + shim.PasskeysFile

// StaysHere are the files of a profile's data that are of no use elsewhere.
func StaysHere() []string { return []string{passkeysPath} }

// PasskeysUnreadable is the error for passkeys that cannot be opened. They stay as they are.
func PasskeysUnreadable() *problem.Error {
	return problem.New(problem.Conflict, "passkeys_unreadable", "The profile's passkeys cannot be opened: their file is damaged, or "+
		"another server's secret key sealed it. They were left as they are. Roll back to a snapshot that has them, or put the file back "+
		"from a backup.")
}

// passkeyMode is what a run's process gets for a profile's setting.
func passkeyMode(row store.Profile) string {
	if row.Passkeys == "off" {
		return ""
	}
	return row.Passkeys
}

// passkeysFile is the file of passkeys, for those who look at a profile's data.
type passkeysFile struct{ key []byte }

// ownFile returns the file of passkeys. A profile that uses none is started whatever it is.
func ownFile(row store.Profile, key []byte) snapshots.OwnFile {
	if passkeyMode(row) == "" {
		return nil
	}
	return passkeysFile{key}
}

// Name satisfies snapshots.OwnFile.
func (passkeysFile) Name() string { return shim.PasskeysFile }

// Most satisfies snapshots.OwnFile.
func (passkeysFile) Most() int64 { return shim.MaxPasskeysFile }

// Open satisfies snapshots.OwnFile.
func (f passkeysFile) Open(sealed []byte) error {
	_, err := shim.OpenPasskeys(f.key, sealed)
	return err
}
