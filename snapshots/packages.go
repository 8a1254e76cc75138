package snapshots

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"warren/packs"
	"warren/store"
)

// Backs packages of extensions up. Each is one object: the sum of what follows, and a tar of its files. It is called after the package,
// whose own bytes nobody has any more.

// packagesPrefix begins the names of packages, as objects and as folders of a data folder.
const packagesPrefix = "extensions/"

func packageName(sum string) string { return packagesPrefix + sum }

func packageFolder(data, sum string) string { return filepath.Join(data, "extensions", sum) }

// packagesHere returns the packages that a database names and whose files are in the data folder. Those without files are no reason to have
// no backup: a start without them warns.
func packagesHere(ctx context.Context, st *store.Store, data string) ([]string, error) {
	sums, err := st.Read().ListPackages(ctx)
	slices.Sort(sums)
	return slices.DeleteFunc(sums, func(sum string) bool {
		_, err := os.Lstat(packageFolder(data, sum))
		return errors.Is(err, fs.ErrNotExist)
	}), err
}

// packPackage makes the object of a package. A package that is removed meanwhile is an error.
func packPackage(folder string) ([]byte, error) {
	var out bytes.Buffer
	out.Write(make([]byte, hex.EncodedLen(sha256.Size)))
	t := tar.NewWriter(&out)
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err == nil {
			err = t.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o600, Size: int64(len(text))})
		}
		if err == nil {
			_, err = t.Write(text)
		}
		return err
	})
	if err = errors.Join(err, t.Close()); err != nil {
		return nil, err
	}
	hex.Encode(out.Bytes(), packageSum(out.Bytes()))
	return out.Bytes(), nil
}

// packageSum is the sum of a package's object, of what follows the sum.
func packageSum(object []byte) []byte {
	sum := sha256.Sum256(object[hex.EncodedLen(sha256.Size):])
	return sum[:]
}

// readPackage reads the tar of a package, and verifies it.
func readPackage(ctx context.Context, from packs.Blobs, sum string) ([]byte, error) {
	body, err := from.Get(ctx, packageName(sum), 0, -1)
	if err != nil {
		return nil, err
	}
	defer body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(body, maxObject+1))
	if err != nil {
		return nil, err
	}
	length := hex.EncodedLen(sha256.Size)
	if len(text) < length || string(text[:length]) != hex.EncodeToString(packageSum(text)) {
		return nil, fmt.Errorf("%s: %w", packageName(sum), packs.ErrDamaged)
	}
	return text[length:], nil
}

// unpackPackage writes the files of a package into a new folder. None leads out of it.
func unpackPackage(text []byte, folder string) error {
	if err := store.MakeFolder(folder); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	for t := tar.NewReader(bytes.NewReader(text)); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && h.Typeflag != tar.TypeReg {
			err = fmt.Errorf("%s of an extension: %w", h.Name, packs.ErrDamaged)
		}
		if err != nil {
			return err
		}
		name := filepath.FromSlash(h.Name)
		if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, t)
		if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
			return err
		}
	}
}

// packages copies packages into the backup.
func (c *copying) packages(ctx context.Context, sums []string) error {
	for _, sum := range sums {
		name := packageName(sum)
		c.backup.Objects++
		if c.there[name] {
			c.used = append(c.used, name)
			c.meter.object(0)
			continue
		}
		text, err := packPackage(packageFolder(c.data, sum))
		if err != nil {
			return fmt.Errorf("the files of an extension: %w", err)
		}
		if err := c.to.Put(ctx, name, int64(len(text)), bytes.NewReader(text)); err != nil {
			return err
		}
		c.backup.Bytes += int64(len(text))
		c.backup.Written += int64(len(text))
		c.meter.object(int64(len(text)))
	}
	return nil
}

// packages returns the packages that a backup holds. An older Warren's holds none.
func (b *Backup) packages(ctx context.Context, from packs.Blobs) (sums []string, err error) {
	names, err := b.names(ctx, from)
	for _, name := range names {
		if sum, ok := strings.CutPrefix(name, packagesPrefix); ok && isObject(name) {
			sums = append(sums, sum)
		}
	}
	return sums, err
}

// names returns the names of a backup's objects. An older Warren's has none.
func (b *Backup) names(ctx context.Context, from packs.Blobs) ([]string, error) {
	if b.Contents == nil {
		return nil, nil
	}
	body, err := from.Get(ctx, b.Contents.Name, 0, -1)
	if err != nil {
		return nil, err
	}
	defer body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(body, maxObject))
	if err == nil {
		err = b.Contents.check(text)
	}
	return strings.Fields(string(text)), err
}

// restorePackages writes the packages of a backup into a data folder.
func (b *Backup) restorePackages(ctx context.Context, o RestoreOptions, dir string) error {
	sums, err := b.packages(ctx, o.From)
	if err != nil || len(sums) == 0 {
		return err
	}
	for _, sum := range sums {
		text, err := readPackage(ctx, o.From, sum)
		if err == nil {
			err = unpackPackage(text, packageFolder(dir, sum))
		}
		if err != nil {
			return err
		}
		o.Meter.object(int64(len(text)))
	}
	return nil
}

// packages checks that what the database names of packages is there: in a backup, or in the data folder. A backup of an older Warren holds
// none. A server fetches a package when a profile starts with it, so that one may be with other servers alone.
func (c *checking) packages(ctx context.Context) error {
	sums, err := c.store.Read().ListPackages(ctx)
	if err != nil || c.backup != nil && c.backup.Version < packagesVersion {
		return err
	}
	others, err := c.hasOthers(ctx)
	if err != nil {
		return err
	}
	slices.Sort(sums)
	for _, sum := range sums {
		name := packageName(sum)
		if !c.own.has(name) && c.backup != nil { // its server had no files of it
			continue
		}
		c.needed[name] = true
		_, there := c.sizes[name]
		if c.backup == nil {
			_, err := os.Lstat(packageFolder(c.data, sum))
			there = err == nil
		}
		if !there {
			c.missing(sum, others)
			continue
		}
		if c.backup == nil || !c.all {
			continue
		}
		if _, err := readPackage(ctx, c.blobs, sum); err != nil && ctx.Err() == nil {
			c.fault("the extension package %s: %v", sum, err)
		}
	}
	return ctx.Err()
}

// missing notes a package that is not there. It may be on one of the others, if there are some.
func (c *checking) missing(sum string, others bool) {
	if others {
		c.PackagesElsewhere++
		return
	}
	c.fault("the files of the extension package %s are not there: add it again", sum)
}

// hasOthers reports whether other servers of the database have profiles.
func (c *checking) hasOthers(ctx context.Context) (bool, error) {
	if c.server == "" {
		return false, nil
	}
	return c.store.Read().HasProfilesElsewhere(ctx, c.server)
}
