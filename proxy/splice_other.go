//go:build !linux

package proxy

const kernelCopies = false

// setLowWater is not used where the kernel does not copy.
func (w *waiter) setLowWater(int) bool { return false }
