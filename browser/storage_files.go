package browser

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/storage"

	"warren/state"
)

// Reads from Chrome's files what sites keep: which origins there are, and localStorage of a browser that changes nothing meanwhile.

// StoredOrigins are the origins that keep something, sorted.
type StoredOrigins struct {
	Local       []state.Origin // with their localStorage, as it is on the disk
	Databases   []string       // those with IndexedDB
	Partitioned int            // stores of sites within other sites' pages, which no format carries
}

// readAttempts is how often the files are read while Chrome replaces them.
const readAttempts = 5

// ReadStoredOrigins reads a profile's files. A browser may be running.
func ReadStoredOrigins(userDataDir string) (s StoredOrigins, err error) {
	dir := filepath.Join(userDataDir, profileFolder)
	for range readAttempts {
		if s, err = readLocalStorage(filepath.Join(dir, "Local Storage", "leveldb")); err == nil {
			break
		}
	}
	if err != nil {
		return s, fmt.Errorf("read localStorage from Chrome's files: %w", err)
	}
	s.Databases, err = databaseOrigins(filepath.Join(dir, "IndexedDB"))
	return s, err
}

// readLocalStorage reads a LevelDB folder of localStorage (components/services/storage/dom_storage/local_storage_impl.cc). A key is
// "_", the storage key, NUL and the name; names and values are text with a byte for its encoding in front.
func readLocalStorage(dir string) (s StoredOrigins, err error) {
	if _, err := os.Stat(filepath.Join(dir, "CURRENT")); errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	values, err := readLevelDB(dir)
	if err != nil {
		return s, err
	}
	partitions := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		place, name, ok := strings.Cut(strings.TrimPrefix(key, "_"), "\x00")
		origin, single := originOf(place)
		switch {
		case !ok || origin == "" || !strings.HasPrefix(key, "_"):
			continue
		case !single:
			partitions[place] = true
			continue
		}
		if n := len(s.Local); n == 0 || s.Local[n-1].Origin != origin {
			s.Local = append(s.Local, state.Origin{Origin: origin})
		}
		last := &s.Local[len(s.Local)-1]
		item := state.Item{}
		if item.Name, err = chromeText([]byte(name)); err == nil {
			item.Value, err = chromeText(values[key])
		}
		if err != nil {
			return s, err
		}
		last.LocalStorage = append(last.LocalStorage, item)
	}
	for _, o := range s.Local {
		sortItems(o.LocalStorage)
	}
	s.Partitioned = len(partitions)
	return s, nil
}

// readLevelDB returns the values of a LevelDB folder by their keys: those of its tables, and what its logs change.
func readLevelDB(dir string) (values map[string][]byte, err error) {
	files, err := storage.OpenFile(dir, true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	db, err := leveldb.Open(withoutLogs{files}, &opt.Options{ReadOnly: true, ErrorIfMissing: true, Strict: opt.StrictAll})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	values = map[string][]byte{}
	all := db.NewIterator(nil, nil)
	defer all.Release()
	for all.Next() {
		values[string(all.Key())] = slices.Clone(all.Value())
	}
	later, err := readLogs(dir)
	for key, value := range later {
		if values[key] = value; value == nil {
			delete(values, key)
		}
	}
	return values, errors.Join(err, all.Error())
}

// originOf returns the origin of a storage key (blink StorageKey, SerializeForLocalStorage). single says that it is of pages that a site
// shows by itself. Extensions and Chrome's own pages have none.
func originOf(key string) (origin string, single bool) {
	origin, _, partitioned := strings.Cut(key, "^")
	origin = strings.TrimSuffix(origin, "/")
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", false
	}
	return origin, !partitioned
}

// chromeText reads text with a byte for its encoding in front: 0 UTF-16, little-endian; 1 Latin-1.
func chromeText(b []byte) (string, error) {
	switch {
	case len(b) > 0 && b[0] == 1:
		out := make([]rune, 0, len(b))
		for _, c := range b[1:] {
			out = append(out, rune(c))
		}
		return string(out), nil
	case len(b)%2 == 1 && b[0] == 0:
		units := make([]uint16, 0, len(b)/2)
		for i := 1; i < len(b); i += 2 {
			units = append(units, uint16(b[i])|uint16(b[i+1])<<8)
		}
		return state.FromUTF16(units), nil
	}
	return "", errors.New("a text has an encoding that is not known")
}

// SyncState makes sure that the files of cookies and storage are on the disk (fsync).
func SyncState(userDataDir string) error {
	dir := filepath.Join(userDataDir, profileFolder)
	var all error
	for _, name := range []string{"Cookies", "Cookies-journal", "Network", "Local Storage", "IndexedDB", "."} {
		root := filepath.Join(dir, name)
		all = errors.Join(all, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !e.IsDir() && !e.Type().IsRegular() || e.IsDir() && runtime.GOOS == "windows" {
				return err // folders cannot be flushed there
			}
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			if err = errors.Join(f.Sync(), f.Close()); err == nil && name == "." { // the folder itself, not all that is in it
				err = fs.SkipAll
			}
			return err
		}))
	}
	return all
}

// databaseOrigins returns the origins of the folders of IndexedDB, which are named by scheme, host and port
// (storage/common/database/database_identifier.cc).
func databaseOrigins(dir string) (all []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".indexeddb.")
		scheme, rest, _ := strings.Cut(name, "_")
		at := strings.LastIndexByte(rest, '_')
		if at < 0 || scheme != "http" && scheme != "https" || name == e.Name() {
			continue
		}
		host, port := rest[:at], rest[at+1:]
		if strings.HasPrefix(host, "[") { // an address of IPv6, whose colons became underscores
			host = strings.ReplaceAll(host, "_", ":")
		}
		if port != "0" {
			host += ":" + port
		}
		if origin := scheme + "://" + host; !slices.Contains(all, origin) {
			all = append(all, origin)
		}
	}
	slices.Sort(all)
	return all, err
}
