//go:build !linux

package shim

func orphans() {}
