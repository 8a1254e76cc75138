//go:build !linux

package browser

// copyLocalePack: where there is no mount namespace, DevTools' overrides alone make the locale.
func copyLocalePack(*Spec, bool) (holds bool, err error) { return false, nil }
