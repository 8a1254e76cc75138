// Package snapshots keeps what profiles hold: the data of their browsers, as snapshots to go back to and to clone.
//
// A snapshot is a row, a sealed tree and the packs that the tree names (package packs). A profile's head is the snapshot that
// its data go on from. Whoever calls the package for a profile must keep that profile from starting meanwhile.
package snapshots
