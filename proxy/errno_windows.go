package proxy

import "golang.org/x/sys/windows"

// Sockets report WSA codes on Windows, where package syscall's ECONNREFUSED and its like are Go's own numbers.
var (
	refusedErrnos     = []error{windows.WSAECONNREFUSED}
	closedErrnos      = []error{windows.WSAECONNRESET, windows.WSAECONNABORTED, windows.WSAESHUTDOWN}
	unreachableErrnos = []error{windows.WSAEHOSTUNREACH, windows.WSAENETUNREACH, windows.WSAEHOSTDOWN, windows.WSAENETDOWN,
		windows.WSAEADDRNOTAVAIL}
	localErrnos = []error{windows.WSAENETUNREACH, windows.WSAENETDOWN, windows.WSAEADDRNOTAVAIL, windows.WSAEMFILE, windows.WSAENOBUFS}
)
