package main

// private does nothing: on Windows the data folder inherits the owner's access list.
func private() {}
