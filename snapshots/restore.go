package snapshots

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"warren/packs"
	"warren/store"
)

// Makes a data folder from a backup.

// RestoreOptions say what is restored, and where to.
type RestoreOptions struct {
	From packs.Blobs
	ID   string // of the backup; "" is the newest
	Data string // the new data folder: there must be none, or an empty one
	Key  string // the file of the secret key, if the backup has none

	Meter *Meter // counts what is done; nil: nobody looks
}

// ErrNotEmpty says that a restore would mix with what is there.
var ErrNotEmpty = errors.New("the data folder is not empty; restore to a new one, or move it away first")

// Restore makes a data folder from a backup. It is there whole, or not at all. Every byte is verified on the way.
func Restore(ctx context.Context, o RestoreOptions) (*Backup, error) {
	if entries, err := os.ReadDir(o.Data); err != nil && !errors.Is(err, fs.ErrNotExist) || len(entries) > 0 {
		return nil, errors.Join(err, ErrNotEmpty)
	}
	b, err := chosen(ctx, o.From, o.ID)
	if err != nil {
		return nil, err
	}
	aside := strings.TrimRight(o.Data, string(filepath.Separator)) + ".restoring"
	if err := errors.Join(os.RemoveAll(aside), store.MakeFolder(aside)); err != nil {
		return nil, err
	}
	defer os.RemoveAll(aside) //nolint:errcheck // after a success there is none
	if err := b.restoreTo(ctx, o, aside); err != nil {
		return nil, err
	}
	if err := os.Remove(o.Data); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := os.Rename(aside, o.Data); err != nil {
		return nil, err
	}
	return b, store.SyncFolder(filepath.Dir(o.Data))
}

// chosen returns a backup by its id; "" is the newest.
func chosen(ctx context.Context, from packs.Blobs, id string) (*Backup, error) {
	names, err := backupNames(ctx, from)
	if err != nil {
		return nil, err
	}
	i := 0
	if id != "" {
		i = slices.Index(names, backupPrefix+id)
	}
	if i < 0 || i >= len(names) {
		return nil, errors.New("there is no such backup; `warren restore PLACE --list` lists those that there are")
	}
	b, err := readBackup(ctx, from, names[i])
	if err == nil && b.Version > backupVersion {
		return nil, fmt.Errorf("the backup was made by warren %s, which is newer: restore it with that one", b.Warren)
	}
	return b, err
}

// restoreTo writes the files of a data folder, the database first and the objects that it names after it.
func (b *Backup) restoreTo(ctx context.Context, o RestoreOptions, dir string) error {
	o.Meter.begin(stepDatabase)
	o.Meter.expect(b.Objects)
	if err := b.restoreDatabase(ctx, o.From, filepath.Join(dir, store.FileName), o.Meter); err != nil {
		return err
	}
	for _, f := range b.Files {
		sum := sha256.Sum256(f.Text)
		if hex.EncodeToString(sum[:]) != f.SHA256 || !filepath.IsLocal(f.Name) || strings.ContainsAny(f.Name, `/\`) {
			return fmt.Errorf("%s: %w", f.Name, packs.ErrDamaged)
		}
		if err := store.WriteFile(filepath.Join(dir, f.Name), string(f.Text)); err != nil {
			return err
		}
	}
	key := o.Key
	if key == "" {
		key = filepath.Join(dir, keyName)
	}
	if _, err := os.Stat(key); err != nil {
		return fmt.Errorf("the backup has no %s; name the one of its server with --secret-key-file: %w", keyName, err)
	}
	st, err := openCopy(ctx, dir, key, "")
	if err != nil {
		return err
	}
	own, err := b.holds(ctx, o.From)
	if err != nil {
		return errors.Join(err, st.Close())
	}
	c := &copying{from: o.From, to: packs.Folder(filepath.Join(dir, "snapshots")), backup: &Backup{}, meter: o.Meter, own: own}
	return errors.Join(c.all(ctx, st), st.Close(), b.restorePackages(ctx, o, dir), store.MakeFolder(filepath.Join(dir, "profiles")))
}

// restoreDatabase writes the database, and compares its sum.
func (b *Backup) restoreDatabase(ctx context.Context, from packs.Blobs, path string, m *Meter) (err error) {
	body, err := from.Get(ctx, b.Database.Name, 0, -1)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // it was only read
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(file, sum, m), body)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = wantSum(sum, b.Database)
	}
	return err
}

func wantSum(sum hash.Hash, f File) error {
	if hex.EncodeToString(sum.Sum(nil)) != f.SHA256 {
		return fmt.Errorf("%s: %w", f.Name, packs.ErrDamaged)
	}
	return nil
}

// check compares a file's bytes with its sum.
func (f File) check(text []byte) error {
	sum := sha256.New()
	sum.Write(text)
	return wantSum(sum, f)
}
