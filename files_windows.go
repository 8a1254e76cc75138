package main

// openFiles is not known: Windows has no limit that matters.
func openFiles() int { return 0 }
