package browser

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"unicode"
)

// FileName turns a suggested name into a safe one: no folders, no control characters, at most maxFileName bytes.
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

// maxFileName is the longest name of a file, in bytes.
const maxFileName = 200

// withoutEnding splits a name into its start and its ending, such as ".txt".
func withoutEnding(name string) (start, end string) {
	if end = path.Ext(name); len(end) > 20 {
		end = ""
	}
	return strings.TrimSuffix(name, end), end
}

// SizeOf returns how many bytes the files in a folder and its subfolders count towards a quota. Files that disappear meanwhile do not
// count.
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

// fileCost is the least that a file counts, in bytes: empty files take room too, and slow down every check.
const fileCost = 4096
