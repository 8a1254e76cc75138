//go:build !linux

package testnet

// FastFolder returns "": the folder for temporary files is as good as any.
func FastFolder() string { return "" }
