package archive

import (
	"fmt"
	"strconv"
	"strings"
)

// block is the length of a header of a tar, and what the length of each member is rounded up to, in bytes.
const block = 512

// header returns the header of a member: ustar, as POSIX.1-1988 has it. It is written here, and not by archive/tar, since each of
// its bytes is compared when the archive is read, by any later version.
func header(name string, size int64) (b [block]byte) {
	put := func(at int, text string) { copy(b[at:], text) }
	put(0, name)
	put(100, "0000600\x00")                  // mode: for the owner alone
	put(108, "0000000\x000000000\x00")       // user and group
	put(124, fmt.Sprintf("%011o\x00", size)) // of the member
	put(136, "00000000000\x00")              // the time of a change: none is told
	put(148, "        ")                     // the sum counts as spaces
	put(156, "0")                            // a file
	put(257, "ustar\x0000")                  // magic and version
	put(329, "0000000\x000000000\x00")       // the numbers of a device
	sum := 0
	for _, c := range b {
		sum += int(c)
	}
	put(148, fmt.Sprintf("%06o\x00 ", sum))
	return b
}

// parseHeader returns what a header tells. ok is false if it is not exactly what header returns for that.
func parseHeader(b [block]byte) (name string, size int64, ok bool) {
	name, _, _ = strings.Cut(string(b[:100]), "\x00")
	size, err := strconv.ParseInt(string(b[124:135]), 8, 64)
	return name, size, err == nil && size >= 0 && b == header(name, size)
}

// padding is how many zero bytes follow on a member of this length.
func padding(size int64) int64 { return -size & (block - 1) }
