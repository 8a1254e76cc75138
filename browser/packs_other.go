//go:build !linux

package browser

// layPacks: where there is no mount namespace, DevTools' overrides alone make the locale.
func layPacks(*Spec, bool) (holds bool, err error) { return false, nil }
