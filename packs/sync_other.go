//go:build !linux

package packs

// syncFileSystem: no other system has a call for it that waits.
func syncFileSystem(string) (done bool, err error) { return false, nil }
