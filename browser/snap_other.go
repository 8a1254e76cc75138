//go:build !linux

package browser

// isSnap: only Linux has snaps.
func isSnap(string) bool { return false }
