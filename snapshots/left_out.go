package snapshots

import (
	"path"
	"slices"
	"strings"
)

// leftOut is the packs.Filter of profiles' folders.
type leftOut struct{}

// Leaves reports whether a path of a profile's folder is in no snapshot.
func (leftOut) Leaves(at string, isDir bool) bool { return leaveOut(at, isDir) }

func leaveOut(at string, isDir bool) bool {
	top, _, below := strings.Cut(at, "/")
	if top != "chrome" && top != "home" {
		return true
	}
	return below && isDir && strings.Count(at, "/") <= 2 && slices.Contains([]string{"Cache", "Code Cache", "GPUCache"}, path.Base(at))
}
