package snapshots

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"warren/store"
)

// Copies the folder of a profile whose browser runs. Its files change meanwhile, and no lock may keep them still. Chrome waits for no
// lock (sql/database.cc sets no busy timeout). A cookie that it cannot write because somebody reads the database is lost (measured).
// So SQLite does not open the originals, most of which Chrome has locked anyway.
//
// A database is copied and then compared with the original again. If both are the same, the copy is of one moment.

// The waits before a database is copied again that changed meanwhile. Chrome writes most of them seconds apart.
const (
	attempts  = 12
	firstWait = 5 * time.Millisecond
	lastWait  = 400 * time.Millisecond
)

// sqliteHeader begins every SQLite database (https://www.sqlite.org/fileformat.html).
const sqliteHeader = "SQLite format 3\x00"

// besideDatabase are the endings of the files that SQLite lays beside a database. They hold what is to be rolled back, what is not in
// the file yet, and memory that its users share.
func besideDatabase() []string { return []string{"-journal", "-wal", "-shm"} }

// errChanged is the error of a database that was changed while it was copied.
var errChanged = errors.New("it changed while it was copied")

// sharingViolation is Windows' ERROR_SHARING_VIOLATION: Chrome opens some databases for itself alone. No other system opens so.
const sharingViolation = syscall.Errno(32)

// copyLive copies a profile's folder while its browser runs into a new folder, without what snapshots leave out. Databases are
// whole, each as it was at one moment of the copy; all else is as it is found. What a database names and what was written before
// it is there too, since databases are copied first.
//
// torn are the paths of the SQLite files and LevelDB folders that changed at each attempt, that are damaged, or that only the browser
// may read. Those are as they came out last, or are missing. After an error, also of ctx, there is no folder.
func copyLive(ctx context.Context, from, into string) (torn []string, err error) {
	root, err := os.OpenRoot(from)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // it was only read
	if err := os.Mkdir(into, 0o700); err != nil {
		return nil, err
	}
	c := &liveCopy{ctx: ctx, from: root, into: into, done: map[string]bool{}}
	for _, onlyDatabases := range []bool{true, false} {
		if err := c.folder("", onlyDatabases); err != nil {
			return nil, errors.Join(cmp.Or(ctx.Err(), err), os.RemoveAll(into))
		}
	}
	return c.torn, nil
}

// liveCopy is one copyLive. Paths are of the profile's folder, with slashes.
type liveCopy struct {
	ctx  context.Context
	from *os.Root // a run may put a link into the place of a file: none is followed out of the folder
	into string
	done map[string]bool // databases, and LevelDB folders
	torn []string
}

// open opens a regular file of the profile. What else a run may have put into its place is taken for missing, and never waited for.
func (c *liveCopy) open(at string) (*os.File, error) {
	f, err := c.from.OpenFile(filepath.FromSlash(at), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fs.ErrNotExist, err, f.Close())
	}
	return f, nil
}

func (c *liveCopy) target(at string) string { return filepath.Join(c.into, filepath.FromSlash(at)) }

// folder copies what a folder holds, its files first: the lists of a folder before what they name.
func (c *liveCopy) folder(at string, onlyDatabases bool) error {
	entries, err := c.list(at)
	if err != nil {
		return missing(err)
	}
	var below []fs.DirEntry
	isStore := isLevelDB(at, entries)
	if isStore && !c.done[at] {
		if err := c.database(at, c.store); err != nil {
			return err
		}
	}
	for _, entry := range entries {
		switch entryAt := path.Join(at, entry.Name()); {
		case c.ctx.Err() != nil:
			return c.ctx.Err()
		case entry.IsDir():
			below = append(below, entry)
		case isStore: // as a whole, above
		default:
			if err := c.file(entryAt, entry, onlyDatabases); err != nil {
				return err
			}
		}
	}
	for _, entry := range below {
		if err := c.subfolder(path.Join(at, entry.Name()), entry, onlyDatabases); err != nil {
			return err
		}
	}
	return nil
}

// subfolder copies a folder. It gets its permissions and times when all that it holds is there.
func (c *liveCopy) subfolder(at string, entry fs.DirEntry, onlyDatabases bool) error {
	info, err := entry.Info()
	if err != nil {
		return missing(err)
	}
	if err := os.Mkdir(c.target(at), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := c.folder(at, onlyDatabases); err != nil || onlyDatabases {
		return err
	}
	return errors.Join(os.Chmod(c.target(at), info.Mode().Perm()|0o700), os.Chtimes(c.target(at), time.Time{}, info.ModTime()))
}

// list returns what of a folder is kept, by name.
func (c *liveCopy) list(at string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(c.from.FS(), cmp.Or(at, "."))
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return leaveOut(path.Join(at, e.Name()), e.IsDir()) }), err
}

// file copies a file or a link. What is neither, such as a socket, is nothing that can be kept.
func (c *liveCopy) file(at string, entry fs.DirEntry, onlyDatabases bool) error {
	switch {
	case entry.Type() == fs.ModeSymlink && !onlyDatabases:
		target, err := c.from.Readlink(filepath.FromSlash(at))
		if err != nil {
			return missing(err)
		}
		return os.Symlink(target, c.target(at))
	case !entry.Type().IsRegular() || c.done[at] || c.isBesideDatabase(at):
		return nil
	case c.isDatabase(at):
		return c.database(at, c.sqlite)
	case onlyDatabases:
		return nil
	}
	return missing(c.copyFile(at))
}

// isBesideDatabase reports whether a file belongs to a database that was copied with it.
func (c *liveCopy) isBesideDatabase(at string) bool {
	return slices.ContainsFunc(besideDatabase(), func(ending string) bool {
		of, ok := strings.CutSuffix(at, ending)
		return ok && c.done[of]
	})
}

// isDatabase reports whether a file is one of SQLite. One that cannot be opened is none: it shows again when it is copied.
func (c *liveCopy) isDatabase(at string) bool {
	f, err := c.open(at)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // it was only read
	header := make([]byte, len(sqliteHeader))
	_, err = io.ReadFull(f, header)
	return err == nil && string(header) == sqliteHeader
}

// isLevelDB reports whether a folder is a database of LevelDB: CURRENT names the MANIFEST, which names the tables.
func isLevelDB(at string, entries []fs.DirEntry) bool {
	return !isOfExtension(at) && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "CURRENT" }) &&
		slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return isManifest(e.Name()) })
}

func isManifest(name string) bool { return strings.HasPrefix(name, "MANIFEST-") }

// database makes attempts at a copy until one is of one moment, and notes a database of which none was, or which was damaged at that
// moment.
func (c *liveCopy) database(at string, attempt func(at string) error) error {
	c.done[at] = true
	wait := firstWait
	for range attempts {
		err := attempt(at)
		switch {
		case errors.Is(err, store.ErrDamaged):
			c.torn = append(c.torn, at)
			return nil
		case !errors.Is(err, errChanged) && !errors.Is(err, sharingViolation):
			return err
		}
		select {
		case <-c.ctx.Done():
			return c.ctx.Err()
		case <-time.After(wait):
		}
		wait = min(2*wait, lastWait)
	}
	c.torn = append(c.torn, at)
	return nil
}

// sqlite copies a database with the journal or the log that lies beside it, and makes one file of them.
func (c *liveCopy) sqlite(at string) error {
	files := []string{at, at + "-journal", at + "-wal"} // not the memory, which is made anew
	for _, f := range files {
		if err := errors.Join(missing(os.Remove(c.target(f))), missing(c.copyFile(f))); err != nil { // as they are now, or not at all
			return err
		}
	}
	for _, f := range files {
		if same, err := c.same(f); err != nil || !same {
			return cmp.Or(err, errChanged)
		}
	}
	info, err := os.Stat(c.target(at))
	if err != nil {
		return missing(err) // it has gone
	}
	if err := store.SettleCopy(c.ctx, c.target(at)); err != nil {
		return err
	}
	if err := missing(os.Remove(c.target(at + "-journal"))); err != nil { // an empty one, which means nothing
		return err
	}
	return os.Chtimes(c.target(at), time.Time{}, info.ModTime())
}

// store copies a LevelDB folder. CURRENT and MANIFEST say which tables and logs count. If they are still the same when the folder is
// listed, all of those are in it: MANIFEST changes before a file goes. Tables never change, a log only grows, and one that is cut
// off anywhere is read up to there. So only a file that goes before it is copied makes another attempt necessary.
func (c *liveCopy) store(at string) error {
	lists, _, err := c.storeFiles(at)
	if errors.Is(err, fs.ErrNotExist) { // the whole folder has gone
		return c.removeOthers(at, nil)
	}
	if err == nil {
		err = c.copyAll(at, lists)
	}
	if err != nil {
		return gone(err)
	}
	listsNow, others, err := c.storeFiles(at)
	if err != nil || !slices.Equal(lists, listsNow) {
		return cmp.Or(gone(err), errChanged)
	}
	for _, name := range lists {
		if same, err := c.same(path.Join(at, name)); err != nil || !same {
			return cmp.Or(err, errChanged)
		}
	}
	if err := c.removeOthers(at, append(lists, others...)); err != nil {
		return err
	}
	others = slices.DeleteFunc(others, func(name string) bool { return c.hasTable(at, name) })
	return gone(c.copyAll(at, others))
}

// copyAll copies files of a folder.
func (c *liveCopy) copyAll(at string, names []string) error {
	for _, name := range names {
		if err := c.copyFile(path.Join(at, name)); err != nil {
			return err
		}
	}
	return nil
}

// storeFiles returns the names of the files of a LevelDB folder, the oldest first: those that say which count, and the others.
func (c *liveCopy) storeFiles(at string) (lists, others []string, err error) {
	entries, err := c.list(at)
	for _, e := range entries {
		switch {
		case !e.Type().IsRegular():
		case e.Name() == "CURRENT" || isManifest(e.Name()):
			lists = append(lists, e.Name())
		default:
			others = append(others, e.Name())
		}
	}
	return lists, others, err
}

// removeOthers removes what an earlier attempt copied and what is gone now.
func (c *liveCopy) removeOthers(at string, files []string) error {
	entries, err := os.ReadDir(c.target(at))
	for _, e := range entries {
		if !e.IsDir() && !slices.Contains(files, e.Name()) {
			err = errors.Join(err, os.Remove(c.target(path.Join(at, e.Name()))))
		}
	}
	return err
}

// hasTable reports whether an earlier attempt copied a table whole.
func (c *liveCopy) hasTable(at, name string) bool {
	if ext := path.Ext(name); ext != ".ldb" && ext != ".sst" {
		return false
	}
	now, err := c.from.Lstat(filepath.Join(filepath.FromSlash(at), name))
	if err != nil {
		return false
	}
	then, err := os.Stat(c.target(path.Join(at, name)))
	return err == nil && then.Size() == now.Size()
}

// copyPart is how many bytes are copied between two looks at the context.
const copyPart = 64 << 20

// copyFile copies a file as long as it is now. The kernel copies where it can, which costs no space on some file systems. The error
// is fs.ErrNotExist if there is none.
func (c *liveCopy) copyFile(at string) error {
	in, err := c.open(at)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it was only read
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(c.target(at), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, info.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	for left := info.Size(); left > 0 && err == nil; left -= copyPart {
		_, err = io.CopyN(out, in, min(left, copyPart))
		if err == nil {
			err = c.ctx.Err()
		}
	}
	if errors.Is(err, io.EOF) { // it has become shorter
		err = nil
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Chtimes(c.target(at), time.Time{}, info.ModTime())
}

// same reports whether a file has the bytes that its copy has. There may be neither.
func (c *liveCopy) same(at string) (bool, error) {
	original, err := c.open(at)
	if missing(err) != nil {
		return false, err
	}
	if err == nil {
		defer original.Close() //nolint:errcheck // it was only read
	}
	copied, errCopied := os.Open(c.target(at))
	if missing(errCopied) != nil || err != nil || errCopied != nil {
		gone := errors.Is(err, fs.ErrNotExist) && errors.Is(errCopied, fs.ErrNotExist)
		return gone, missing(errCopied)
	}
	defer copied.Close() //nolint:errcheck // it was only read
	a, b := make([]byte, 256<<10), make([]byte, 256<<10)
	for c.ctx.Err() == nil {
		n, errA := io.ReadFull(original, a)
		m, errB := io.ReadFull(copied, b)
		if !bytes.Equal(a[:n], b[:m]) {
			return false, nil
		}
		if n < len(a) { // the end of both, or an error
			return true, errors.Join(ended(errA), ended(errB))
		}
	}
	return false, c.ctx.Err()
}

// ended is nil for the errors that say that a file ended.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// gone is errChanged for the error that says that a file has gone.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errChanged
	}
	return err
}

// missing is nil for the error that says that a file has gone, which is none while a browser runs.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
