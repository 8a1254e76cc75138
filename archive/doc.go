// Package archive writes profiles into one file, and reads them from it: to carry them to another machine, or to keep them.
//
// An archive is a tar (POSIX.1-1988, ustar) in an age file (https://age-encryption.org/v1), or the bare tar if it is unsealed. It
// has these members, in this order, and no others:
//
//	archive.json       the format, the version that made it, when, and the secret of its packs
//	packs/ab/abcd…     for each profile the packs that it needs and that are not there yet, named by their SHA-256
//	trees/1            its tree, sealed for it; none if it has no data
//	profiles/1.json    what it is: id, name, settings, browser, system; and what the tree holds
//	manifest.json      name, size and SHA-256 of every member above
//
// Every byte is determined: headers, order and manifest follow from the members, so that one wrong bit anywhere is found. The
// secret is made for this archive alone. The writer needs no file beside the archive, and the reader one pass and the trees.
//
// The package knows files. It knows nothing of HTTP, of the database, and of what settings mean.
package archive
