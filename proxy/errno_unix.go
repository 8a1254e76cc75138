//go:build !windows

package proxy

import "syscall"

var (
	refusedErrnos     = []error{syscall.ECONNREFUSED}
	closedErrnos      = []error{syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED}
	unreachableErrnos = []error{syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENETDOWN, syscall.EADDRNOTAVAIL}
	localErrnos       = []error{syscall.ENETUNREACH, syscall.ENETDOWN, syscall.EADDRNOTAVAIL, syscall.EMFILE, syscall.ENFILE,
		syscall.ENOBUFS}
)
