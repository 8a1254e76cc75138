//go:build !linux

package proxy

const kernelCopies = false
