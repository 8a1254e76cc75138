package browser

// removeStaleLock does nothing: on Windows Chrome's lock is an open file, which closes with its process.
func removeStaleLock(string) error { return nil }

// ownFolder accepts every folder: on Windows the owner does not decide who may write.
func ownFolder(string) error { return nil }
