package packs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
)

// settled is how old a file's last change must be before its stamp says that it is unchanged. Within the resolution of a file
// system's clock, a later write may leave the same times.
const settled = 2 * time.Second

// stamp is what a file system says of a file. A file with the same stamp has the same bytes.
type stamp struct {
	Size     int64  `json:"s"`
	Modified int64  `json:"m"` // nanoseconds since 1970
	Changed  int64  `json:"c"` // its inode, nanoseconds since 1970
	Inode    uint64 `json:"i"`
}

// stamps say which tree a folder equalled, and what its files looked like then.
type stamps struct {
	Tree  string           `json:"tree"`
	Files map[string]stamp `json:"files"` // by path; those whose last change was too young are left out
}

// readStamps reads the file of stamps. One that is not there or cannot be read says nothing: then every file is read.
func readStamps(path string) (s stamps) {
	if path == "" {
		return stamps{}
	}
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &s) != nil {
		return stamps{}
	}
	return s
}

// write replaces the file of stamps. A half-written one is never seen.
func (s stamps) write(path string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	aside := path + unfinished
	file, err := os.OpenFile(aside, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(aside))
	}
	return os.Rename(aside, path)
}

// forget removes the stamps before the folder changes under them.
func forget(path string) error {
	if path == "" {
		return nil
	}
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// unchanged reports whether a file has the bytes that it had when the stamps were made.
func (s stamps) unchanged(path string, now stamp, known bool) bool {
	then, ok := s.Files[path]
	return ok && known && then == now
}
