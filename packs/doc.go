// Package packs keeps trees of files as immutable, sealed objects: for snapshots, clones, roll-backs, archives and backups.
//
// A file is cut at every 256 KiB. Each part, a chunk, is compressed and sealed under keys that follow from its content and from
// the vault's secret. Equal chunks of one vault are kept once, and those of two vaults share nothing. New chunks go together into
// packs of at most 8 MiB, which are named by the SHA-256 of their bytes. Anybody can verify a pack, and nobody without the secret
// can read it. A tree says which chunks make which files. It is sealed for one subject.
//
// Objects are kept in a folder, or in a bucket of a server that speaks S3.
//
// The package knows nothing of profiles and browsers.
package packs
