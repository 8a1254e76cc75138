package browser

// unlock has nothing to do on Windows: Chrome's lock there is an open file, which goes with its process.
func unlock(string) error { return nil }
