//go:build !linux

package browser

// isSnap returns false: only Linux has snaps.
func isSnap(string) bool { return false }
