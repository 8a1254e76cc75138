package shim

import "os"

// exitSignal returns "": Windows has no signals.
func exitSignal(*os.ProcessState) string { return "" }
