//go:build !linux

package main

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Elsewhere than on Linux no process' CPU and memory are read: the table has wall times only.

func cpu(int) time.Duration { return 0 }
func memory(int) int64      { return 0 }
func descriptors(int) int   { return 0 }

const seesProcesses = false

func asOrdinary(_ *exec.Cmd, dir string) error { return os.MkdirAll(dir, 0o700) }

func withSandbox() *syscall.SysProcAttr { return nil }

func share(int) int64      { return 0 }
func available() int64     { return 0 }
func childrenOf(int) []int { return nil }
