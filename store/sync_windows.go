package store

// SyncFolder does nothing: Windows has no such call for folders, and NTFS journals names by itself.
func SyncFolder(string) error { return nil }
