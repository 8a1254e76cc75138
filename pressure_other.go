//go:build !linux

package main

func processorTimes() (busy, total int64, ok bool) { return 0, 0, false }
func loadAverage() *float64                        { return nil }
func machineMemory() *memoryJSON                   { return nil }
