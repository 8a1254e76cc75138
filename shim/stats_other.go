//go:build !linux

package shim

// measureCPU reports nothing on these systems.
func measureCPU() (cpuUse, bool) { return cpuUse{}, false }

func measureMemory([]int) memoryUse { return memoryUse{} }
