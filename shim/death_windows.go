package shim

import "os"

// signalOf is the signal that ended a process. Windows has none.
func signalOf(*os.ProcessState) string { return "" }
