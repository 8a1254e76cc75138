package store

// syncFolder does nothing: Windows has no such call for folders, and NTFS journals names by itself.
func syncFolder(string) error { return nil }
