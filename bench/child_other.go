//go:build !linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// CPU and memory of processes are read on Linux only. Elsewhere the table has wall times only.

func cpu(int) time.Duration { return 0 }
func memory(int) int64      { return 0 }
func descriptors(int) int   { return 0 }

const canMeasureProcesses = false

func asNobody(_ *exec.Cmd, dir string) error { return os.MkdirAll(dir, 0o700) }

func withSandbox() *syscall.SysProcAttr { return nil }

func pss(int) int64        { return 0 }
func available() int64     { return 0 }
func childrenOf(int) []int { return nil }
func swapTotal() int64     { return 0 }
func zramUsed() int64      { return 0 }

func canHideGroups() bool { return false }

func withoutGroups([]string) error { return errors.New("control groups are Linux's") }
