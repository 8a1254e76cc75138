//go:build !linux

package main

func playRole([]string) {}
