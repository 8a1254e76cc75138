package main

// openFiles is not known: Windows has no limit that matters.
func openFiles() int { return 0 }

// private does nothing: on Windows the data folder inherits the owner's access list.
func private() {}

// ownedByOther is not asked on Windows: the access list decides.
func ownedByOther(string) bool { return false }
