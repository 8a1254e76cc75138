package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Copy writes a copy of the database of a data folder to a new file, as it is at one moment. A server may use it meanwhile. The copy
// is on the disk when it returns (https://www.sqlite.org/lang_vacuum.html, VACUUM INTO).
func Copy(ctx context.Context, dir, to string) (err error) {
	from := filepath.Join(dir, FileName)
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no %s in %s: name the data folder with --data DIR", FileName, dir)
	}
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) // SQLite would let everyone read it
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			err = errors.Join(err, os.Remove(to))
		}
	}()
	db := openPool(dsn(from, servingPragmas+"&mode=ro"), 1)
	defer db.Close()
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", to); err != nil {
		return explainOpen(from, err)
	}
	return file.Sync()
}
