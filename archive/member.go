package archive

import (
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// format is the version of the format that this package writes and reads.
const format = 1

// Limits of an archive. The writer keeps to them, and the reader refuses what does not.
const (
	maxMembers  = 1 << 17 // 1 TiB of packs
	maxChunks   = 1 << 21
	maxProfiles = 10_000
	maxHead     = 4 << 10  // bytes of archive.json
	maxRecord   = 4 << 20  // of profiles/N.json: the settings, and a thousand passkeys of any kind
	maxRecords  = 64 << 20 // of all of them
	maxTree     = 32 << 20 // of the list of a tree, before it is compressed: some 80 GiB of files
	maxLists    = 1 << 30  // of all of them
)

// kind is what a member is.
type kind uint8

const (
	headKind kind = iota
	packKind
	treeKind
	recordKind
	manifestKind
)

// member is a part of an archive.
type member struct {
	kind   kind
	number int      // of a profile, from 1 on: for its tree and its record
	sum    [32]byte // SHA-256
	at     int64    // where its bytes begin
	size   int64    // bytes
}

// name is what the member is called in the tar. Packs and trees are called as package packs calls its objects.
func (m member) name() string {
	switch m.kind {
	case headKind:
		return "archive.json"
	case packKind:
		sum := hex.EncodeToString(m.sum[:])
		return "packs/" + sum[:2] + "/" + sum
	case treeKind:
		return "trees/" + m.treeID()
	case recordKind:
		return "profiles/" + strconv.Itoa(m.number) + ".json"
	default:
		return "manifest.json"
	}
}

// treeID is the ID of the tree of a profile.
func (m member) treeID() string { return strconv.Itoa(m.number) }

// memberOf returns the member of this name, as far as the name tells. ok is false for a name that no member has.
func memberOf(name string) (m member, ok bool) {
	folder, rest, _ := strings.Cut(name, "/")
	switch folder {
	case "archive.json":
		m.kind = headKind
	case "packs":
		m.kind = packKind
		sum, _ := hex.DecodeString(rest[min(3, len(rest)):]) //nolint:errcheck // the name would be another
		copy(m.sum[:], sum)
	case "trees":
		m.kind = treeKind
		m.number, _ = strconv.Atoi(rest) //nolint:errcheck // the name would be another
	case "profiles":
		m.kind = recordKind
		m.number, _ = strconv.Atoi(strings.TrimSuffix(rest, ".json")) //nolint:errcheck // the name would be another
	default:
		m.kind = manifestKind
	}
	return m, m.name() == name && m.number >= 0
}

// writeManifest writes the last member: it follows from the others. One line is one of them.
func writeManifest(w io.Writer, members []member) error {
	if _, err := fmt.Fprintf(w, "{\"format\":%d,\"members\":[\n", format); err != nil {
		return err
	}
	for i, m := range members {
		end := ",\n"
		if i == len(members)-1 {
			end = "\n]}\n"
		}
		if _, err := fmt.Fprintf(w, "{\"name\":%q,\"size\":%d,\"sha256\":\"%x\"}%s", m.name(), m.size, m.sum, end); err != nil {
			return err
		}
	}
	return nil
}

// counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// manifestSize returns the length of the manifest.
func manifestSize(members []member) int64 {
	var n counter
	_ = writeManifest(&n, members) // a counter takes everything
	return int64(n)
}
