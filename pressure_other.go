//go:build !linux

package main

import "errors"

func processorTimes() (busy, total int64, ok bool) { return 0, 0, false }
func loadAverage() *float64                        { return nil }
func machineMemory() *memoryJSON                   { return nil }
func freeBytes(string) (uint64, error)             { return 0, errors.New("not known") }
