package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// prepareFolder creates the folder (0700) and an empty database file (0600) if they are missing. SQLite would make
// the file readable for everyone. The files beside it take its mode.
func prepareFolder(dir, file string) error {
	if err := MakeFolder(dir); err != nil {
		return explainOpen(file, typedFile(err))
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return explainOpen(file, typedFile(err))
	}
	_ = probe.Close()
	if err := os.Remove(probe.Name()); err != nil {
		return explainOpen(file, typedFile(err))
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return checkFile(dir, file)
	}
	if err != nil {
		return explainOpen(file, typedFile(err))
	}
	if err := f.Close(); err != nil {
		return explainOpen(file, typedFile(err))
	}
	return SyncFolder(dir)
}

// checkFile rejects what SQLite would accept. A file without write permission would be opened for reading. A database
// that lost all its bytes would count as new. The key is created after the first migration, so a database beside a
// key is never empty.
func checkFile(dir, file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return explainOpen(file, typedFile(err))
	}
	if info.Mode().Perm()&0o200 == 0 {
		return explainOpen(file, fmt.Errorf("%w: the database's mode is %v", ErrReadOnly, info.Mode()))
	}
	if _, err := os.Stat(filepath.Join(dir, secretKeyName)); info.Size() > 0 || err != nil {
		return nil
	}
	return explainOpen(file, fmt.Errorf("%w: it is empty, and the key of a full one lies beside it", ErrDamaged))
}

// examine checks the database over a read-only connection: whether it is ours, intact, and not too new. later says that
// it is large: it is still to be checked whether it is intact.
func examine(ctx context.Context, file string, o Options) (version schemaVersion, later bool, err error) {
	settings := examinePragmas
	if log, err := os.Stat(file + "-wal"); err != nil || log.Size() == 0 {
		settings += "&immutable=1" // reads only the file, so that SQLite creates no files beside it
	}
	db := openPool(dsn(file, settings), 1)
	defer db.Close()
	if version, err = examineSchema(ctx, db); err != nil {
		return 0, false, explainOpen(file, err)
	}
	newest := newestMigration()
	if version > newest {
		return 0, false, fmt.Errorf("open %s: %w (its schema is %d, this one knows %d%s); it was left as it is: "+
			"run the newer warren, or restore a backup of before", file, ErrNewer, version, newest, writtenBy(ctx, db))
	}
	if version > 0 && !o.unfinished {
		if err := checkFinished(ctx, db); err != nil {
			return 0, false, explainOpen(file, err)
		}
	}
	if version == newest && isLarge(file, o) {
		return version, true, nil
	}
	if err := checkPages(ctx, db); err != nil { // a migration changes much of the file
		return 0, false, explainOpen(file, err)
	}
	return version, false, nil
}

// WriteFile writes a file of the data folder whole or not at all, with mode 0600, and on the disk when it returns.
func WriteFile(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it has its name by then
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// MakeFolder makes a folder (0700) and those above it that are missing. A power loss leaves all of them.
func MakeFolder(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := MakeFolder(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return SyncFolder(filepath.Dir(dir))
}
