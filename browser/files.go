package browser

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"unicode"
)

// FileName is a name as a file may have it: no folders, nothing that cannot be seen, and short.
func FileName(name string) string {
	name = strings.ToValidUTF8(name, "_")
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name)
	if name = strings.Trim(name, " ."); name == "" {
		name = "file"
	}
	if len(name) > maxFileName {
		name = strings.ToValidUTF8(name[:maxFileName], "")
	}
	return name
}

// maxFileName is how long a file's name may be, in bytes.
const maxFileName = 200

// withoutEnding takes the ending off a name, ".txt", where it is one.
func withoutEnding(name string) (start, end string) {
	if end = path.Ext(name); len(end) > 20 {
		end = ""
	}
	return strings.TrimSuffix(name, end), end
}

// SizeOf is how many bytes the files in a folder count towards a quota, those of its folders included. What goes meanwhile does not count.
func SizeOf(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			total += max(info.Size(), fileCost)
		}
		return nil
	})
	return total
}

// fileCost is what a file counts at least, in bytes: empty ones take room as well, and each makes every look at the folder slower.
const fileCost = 4096
