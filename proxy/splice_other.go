//go:build !linux

package proxy

const canSplice = false

// setLowWater is not called where canSplice is false.
func (w *readWaiter) setLowWater(int) bool { return false }

// readableBytes returns 0, for unknown: poll finds out whether there are any.
func readableBytes(int) int { return 0 }
