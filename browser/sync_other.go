//go:build !linux

package browser

// syncAll does nothing: only Linux brings a whole folder to the disk with one call.
func syncAll(string) error { return nil }
