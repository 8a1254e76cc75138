package testnet

import "syscall"

// endWithThread has the kernel end a server at once when the thread that started it ends. The watcher does it a moment later.
func endWithThread(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGQUIT }
