//go:build !linux

package runs

import (
	"errors"
	"time"
)

func processorTimes() (busy, total int64, ok bool) { return 0, 0, false }
func loadAverage() *float64                        { return nil }
func machineMemory() *Memory                       { return nil }
func bootTime() time.Time                          { return time.Time{} }

// FreeBytes returns an error on this system.
func FreeBytes(string) (uint64, error) { return 0, errors.New("not known") }
