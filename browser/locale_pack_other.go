//go:build !linux

package browser

// copyLocalePack does nothing: without a mount namespace only CDP overrides set the locale.
func copyLocalePack(*Spec, bool) (holds bool, err error) { return false, nil }
