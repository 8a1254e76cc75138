//go:build !linux

package tests

func playRole([]string) {}
