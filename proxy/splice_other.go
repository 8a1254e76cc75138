//go:build !linux

package proxy

const canSplice = false

// setLowWater is not called where canSplice is false.
func (w *readWaiter) setLowWater(int) bool { return false }
