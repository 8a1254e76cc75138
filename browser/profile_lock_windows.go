package browser

// removeStaleLock does nothing: on Windows Chrome's lock is an open file, which closes with its process.
func removeStaleLock(string) error { return nil }
