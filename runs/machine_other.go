//go:build !linux

package runs

import "errors"

func processorTimes() (busy, total int64, ok bool) { return 0, 0, false }
func loadAverage() *float64                        { return nil }
func machineMemory() *Memory                       { return nil }

// FreeBytes returns an error on this system.
func FreeBytes(string) (uint64, error) { return 0, errors.New("not known") }
