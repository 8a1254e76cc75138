package browser

// removeStaleLock has nothing to do on Windows: Chrome's lock there is an open file, which goes with its process.
func removeStaleLock(string) error { return nil }
