//go:build !linux

package runs

func shmFinding() Finding { return Finding{Name: "/dev/shm", OK: true, Detail: "only Linux has it"} }
func filesFinding() Finding {
	return Finding{Name: "open files", OK: true, Detail: "not looked at here"}
}

// canSandbox returns true: elsewhere Chrome's sandbox needs nothing that a system may forbid.
func canSandbox(string) bool { return true }
