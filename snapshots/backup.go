package snapshots

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"warren/packs"
	"warren/store"
)

// Backs a data folder up: its database, and then the objects that the database names, so that every named one is there. What the
// target has already is not written again. A database in PostgreSQL becomes one of SQLite in the backup.

// The names of a backup's own objects.
const (
	backupPrefix   = "backups/"
	databasePrefix = "databases/"
	contentsPrefix = "contents/"
)

// The beginnings of the names of folders with copies of the database.
const (
	backupFolder = ".backup-"
	checkFolder  = ".check-"
)

// backupVersion is the newest version of a backup's form. One without packages has version 1, so that an older Warren reads it.
const (
	backupVersion   = nodeVersion
	packagesVersion = 2 // it holds packages of extensions
	nodeVersion     = 3 // it is of one of the servers that share a database
)

// Backup says what a backup holds. It is an object of the target, written last.
type Backup struct {
	Version   int       `json:"version"`
	ID        string    `json:"id"`
	MadeAt    time.Time `json:"madeAt"` // when it began
	Warren    string    `json:"warren"` // the version that made it
	Profiles  int64     `json:"profiles"`
	Snapshots int64     `json:"snapshots"`
	Objects   int64     `json:"objects"` // that its database names
	Bytes     int64     `json:"bytes"`   // of them
	Database  File      `json:"database"`
	Files     []File    `json:"files"`               // small files of the data folder
	Contents  *File     `json:"contents"`            // the names of its objects; nil: an older Warren made it
	Origin    string    `json:"origin,omitempty"`    // which data folder it is of; equal for all backups of one
	Node      string    `json:"node,omitempty"`      // the id of the server, if it is one of those that share a database
	Elsewhere int64     `json:"elsewhere,omitempty"` // snapshots in the database whose objects other servers have
	Written   int64     `json:"-"`                   // bytes that were not there yet
}

// File is a file in a backup.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	Text   []byte `json:"text,omitempty"` // of a small file
}

// BackupOptions say what is backed up, and where to.
type BackupOptions struct {
	Data   string      // the data folder; its server may run
	To     packs.Blobs // gets the objects
	Warren string      // this program's version
	// Database is the address of the PostgreSQL database, which servers may use meanwhile. "": it is in the data folder.
	Database string

	KeyFile string // the key that seals the database's secrets; "" is secret.key of the data folder
	WithKey bool   // the backup holds that key too

	Meter *Meter // counts what is done; nil: nobody looks

	patience time.Duration // with a thinning; 0: awaitThinFor
}

// maxBackup is how long a backup may take. What is older and not finished is taken for a leftover (thin.go).
const maxBackup = 6 * 24 * time.Hour

// MakeBackup makes a backup. Nobody can see it before it is whole.
func MakeBackup(ctx context.Context, o BackupOptions) (*Backup, error) {
	tidy(ctx, o.Data, o.To, killed) //nolint:errcheck // what is left takes room, and the next backup tries again
	temp, err := os.MkdirTemp(o.Data, backupFolder)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	b := &Backup{Version: 1, ID: store.NewID(), MadeAt: time.Now().UTC(), Warren: o.Warren}
	if o.KeyFile == "" {
		o.KeyFile = filepath.Join(o.Data, keyName)
	}
	o.Meter.begin(stepDatabase)
	if err := copyDatabase(ctx, o.Data, o.Database, o.KeyFile, temp); err != nil {
		return nil, err
	}
	st, err := openCopy(ctx, temp, o.KeyFile, o.Warren)
	if err != nil {
		return nil, err
	}
	c := &copying{data: o.Data, from: packs.Folder(filepath.Join(o.Data, "snapshots")), to: o.To, backup: b, meter: o.Meter,
		patience: o.patience}
	if err := b.write(ctx, o, c, st, temp); err != nil {
		c.retract(ctx)
		return nil, err
	}
	text, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	if err := o.To.Put(ctx, backupPrefix+b.ID, int64(len(text)), bytes.NewReader(text)); err != nil {
		return nil, err
	}
	return b, nil
}

// copyDatabase copies the database of a data folder's server into the folder temp: that of address, or, without one, of the data folder.
func copyDatabase(ctx context.Context, data, address, key, temp string) error {
	if address == "" {
		return store.Copy(ctx, data, filepath.Join(temp, store.FileName))
	}
	if node, err := nodeOf(data); err != nil || node == "" {
		return cmp.Or(err, fmt.Errorf("no server of a PostgreSQL database has used %s: name the data folder of one with --data DIR", data))
	}
	return store.CopyPostgres(ctx, store.CopyPostgresOptions{From: address, To: temp, SecretKeyFile: key})
}

// killed is how old what a backup has left must be before another one removes it.
const killed = maxBackup + 24*time.Hour

// tidy removes what backups that were killed have left in the data folder, and half written in the place. Their whole objects are left
// to Thin.
func tidy(ctx context.Context, data string, place packs.Blobs, age time.Duration) error {
	err := removeFolders(data, time.Now().Add(-age), backupFolder)
	if s, ok := place.(packs.Sweeper); ok {
		_, swept := s.Sweep(ctx, age)
		err = errors.Join(err, swept)
	}
	return err
}

// write writes everything but what makes it a backup. It closes the copy of the database, which is in the folder temp.
func (b *Backup) write(ctx context.Context, o BackupOptions, c *copying, st *store.Store, temp string) (err error) {
	if err = b.choose(ctx, o, c, st); err == nil {
		err = c.backUp(ctx, st)
	}
	if err = errors.Join(err, st.Close()); err != nil {
		return err
	}
	o.Meter.begin(stepDatabase)
	if err := b.addDatabase(ctx, o.To, filepath.Join(temp, store.FileName)); err != nil {
		return err
	}
	o.Meter.wrote(b.Database.Size)
	if err := b.addFiles(o); err != nil {
		return err
	}
	if err := c.stillThere(ctx); err != nil {
		return err
	}
	if took := time.Now().UTC().Sub(b.MadeAt); took > maxBackup { // by the clock that goes on while a machine sleeps
		return fmt.Errorf("the backup took %v, and is none of now any more; the next one has less to do", took.Round(time.Hour))
	}
	return nil
}

// choose says which server the backup is of, and which objects that one has.
func (b *Backup) choose(ctx context.Context, o BackupOptions, c *copying, st *store.Store) error {
	node, err := nodeOf(o.Data)
	if err == nil {
		c.own, b.Elsewhere, err = ownObjects(ctx, st, node, c.from)
	}
	if err != nil {
		return err
	}
	if o.Database != "" || b.Elsewhere > 0 {
		b.Node, b.Version = node, nodeVersion
	}
	b.Origin, err = originOf(o.KeyFile, b.Node)
	return err
}

// originOf returns a name for the data folder that a key is of. It says nothing of the key, which servers of one database share.
func originOf(keyFile, node string) (string, error) {
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("warren: origin of a backup" + node))
	return hex.EncodeToString(mac.Sum(nil)[:16]), nil
}

// keyName is the file of the key that seals the database's secrets, unless it lies elsewhere.
const keyName = "secret.key"

// openCopy opens a copy of a database, which gives it the newest schema. key is the file of its secret key. warren is this program's
// version, if it is known.
func openCopy(ctx context.Context, dir, key, warren string) (*store.Store, error) {
	return store.Open(ctx, dir, store.Options{SecretKeyFile: key, Warren: warren})
}

// addDatabase writes the copy of the database.
func (b *Backup) addDatabase(ctx context.Context, to packs.Blobs, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	b.Database = File{Name: databasePrefix + b.ID, Size: size, SHA256: hex.EncodeToString(sum.Sum(nil))}
	b.Written += size
	return to.Put(ctx, b.Database.Name, size, file)
}

// addFiles adds the small files of the data folder that a server needs.
func (b *Backup) addFiles(o BackupOptions) error {
	paths := map[string]string{"browsers.json": filepath.Join(o.Data, "browsers.json"), "admin.key": filepath.Join(o.Data, "admin.key")}
	if b.Node != "" {
		paths[nodeName] = filepath.Join(o.Data, nodeName)
	}
	if o.WithKey {
		paths[keyName] = o.KeyFile
	}
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		text, err := os.ReadFile(paths[name])
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		sum := sha256.Sum256(text)
		b.Files = append(b.Files, File{Name: name, Size: int64(len(text)), SHA256: hex.EncodeToString(sum[:]), Text: text})
	}
	return nil
}

// copying copies the objects that a database names.
type copying struct {
	from, to packs.Blobs
	backup   *Backup
	meter    *Meter
	data     string          // the folder with the packages
	own      held            // what of the database's objects is copied
	patience time.Duration   // with a thinning; 0: awaitThinFor
	there    map[string]bool // objects of the target
	used     []string        // of these, what the backup needs
	damaged  []error
}

// backUp says what the backup will need, and copies it. A thinning that begins from then on spares it (thin.go).
func (c *copying) backUp(ctx context.Context, st *store.Store) error {
	sums, err := packagesHere(ctx, st, c.data)
	if err != nil {
		return err
	}
	if len(sums) > 0 {
		c.backup.Version = max(c.backup.Version, packagesVersion)
	}
	if err := c.announce(ctx, st, sums); err != nil {
		return err
	}
	if err := awaitThinning(ctx, c.to, cmp.Or(c.patience, awaitThinFor), c.meter); err != nil {
		return err
	}
	return errors.Join(c.all(ctx, st), c.packages(ctx, sums))
}

// announce writes the names of all objects of the backup.
func (c *copying) announce(ctx context.Context, st *store.Store, sums []string) error {
	var names bytes.Buffer
	total := int64(0)
	add := func(name string) error {
		if !c.own.has(name) {
			return nil
		}
		total++
		_, err := fmt.Fprintln(&names, name)
		return err
	}
	err := errors.Join(
		eachSnapshot(ctx, st, func(s store.Snapshot) error { return add(packs.TreePrefix + s.ID) }),
		eachPack(ctx, st, func(pack string) error { return add(packs.PackName(pack)) }))
	for _, sum := range sums {
		c.own.add(packageName(sum))
		err = errors.Join(err, add(packageName(sum)))
	}
	if err != nil {
		return err
	}
	sum := sha256.Sum256(names.Bytes())
	c.meter.expect(total)
	c.backup.Contents = &File{Name: contentsPrefix + c.backup.ID, Size: int64(names.Len()), SHA256: hex.EncodeToString(sum[:])}
	c.backup.Written += int64(names.Len())
	return c.to.Put(ctx, c.backup.Contents.Name, int64(names.Len()), bytes.NewReader(names.Bytes()))
}

// retract takes back what announce wrote, if that is quickly done.
func (c *copying) retract(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	c.to.Delete(ctx, contentsPrefix+c.backup.ID) //nolint:errcheck // a thinning removes it later
}

// all copies every tree and every pack. Those that are damaged do not keep the others from being copied, but fail the backup.
func (c *copying) all(ctx context.Context, st *store.Store) error {
	c.meter.begin(stepObjects)
	if err := c.list(ctx); err != nil {
		return err
	}
	if err := eachSnapshot(ctx, st, func(s store.Snapshot) error { return c.tree(ctx, st, s) }); err != nil {
		return err
	}
	if err := eachPack(ctx, st, func(pack string) error { return c.copy(ctx, packs.PackName(pack), pack) }); err != nil {
		return err
	}
	kept, err := st.Read().CountKept(ctx)
	c.backup.Profiles, c.backup.Snapshots = kept.Profiles, kept.Snapshots-c.backup.Elsewhere
	return errors.Join(append(c.damaged, err)...)
}

// stillThere returns an error if something that the target had, and that was not copied again, is gone.
func (c *copying) stillThere(ctx context.Context) error {
	used := c.used
	if len(used) == 0 {
		return nil
	}
	if err := c.list(ctx); err != nil {
		return err
	}
	for _, name := range used {
		if !c.there[name] {
			return fmt.Errorf("%s was removed from the place of the backup meanwhile; the next backup writes it anew", name)
		}
	}
	return nil
}

// eachSnapshot walks through the snapshots of a database.
func eachSnapshot(ctx context.Context, st *store.Store, do func(store.Snapshot) error) error {
	for after := ""; ; {
		rows, err := st.Read().ListSnapshotsAfter(ctx, store.ListSnapshotsAfterParams{After: after, Limit: walkAtOnce})
		if err != nil {
			return err
		}
		for _, s := range rows {
			if err := do(s); err != nil {
				return err
			}
		}
		if len(rows) < walkAtOnce {
			return nil
		}
		after = rows[len(rows)-1].ID
	}
}

// eachPack walks through the packs that a database's snapshots need.
func eachPack(ctx context.Context, st *store.Store, do func(pack string) error) error {
	for after := ""; ; {
		rows, err := st.Read().ListNeededPacks(ctx, store.ListNeededPacksParams{After: after, Limit: walkAtOnce})
		if err != nil {
			return err
		}
		for _, p := range rows {
			if err := do(p.Name); err != nil {
				return err
			}
		}
		if len(rows) < walkAtOnce {
			return nil
		}
		after = rows[len(rows)-1].Name
	}
}

// walkAtOnce is how many rows a walk reads at a time.
const walkAtOnce = 1000

// list learns what the target has.
func (c *copying) list(ctx context.Context) error {
	c.there = map[string]bool{}
	for _, prefix := range []string{packs.TreePrefix, packs.PackPrefix, packagesPrefix} {
		for o, err := range c.to.List(ctx, prefix) {
			if err != nil {
				return err
			}
			c.there[o.Name] = true
		}
	}
	return nil
}

// tree copies a tree that can be read.
func (c *copying) tree(ctx context.Context, st *store.Store, s store.Snapshot) error {
	if c.own.has(packs.TreePrefix+s.ID) && !c.there[packs.TreePrefix+s.ID] {
		k := &Keeper{store: st, blobs: c.from}
		v, _, err := k.vault(ctx, s.WorkspaceID)
		if err != nil {
			return err
		}
		if _, err := k.tree(ctx, v, s); errors.Is(err, packs.ErrDamaged) {
			c.damaged = append(c.damaged, err)
			return nil
		}
	}
	return c.copy(ctx, packs.TreePrefix+s.ID, "")
}

// copy copies an object. sum is the SHA-256 that it must have, if that is known.
func (c *copying) copy(ctx context.Context, name, sum string) error {
	if !c.own.has(name) {
		return nil
	}
	c.backup.Objects++
	if c.there[name] {
		c.used = append(c.used, name)
		c.meter.object(0)
		return nil
	}
	body, err := c.from.Get(ctx, name, 0, -1)
	if errors.Is(err, packs.ErrNone) {
		c.damaged = append(c.damaged, err)
		return nil
	}
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(body, maxObject+1))
	if err != nil {
		return err
	}
	if got := sha256.Sum256(text); sum != "" && hex.EncodeToString(got[:]) != sum {
		c.damaged = append(c.damaged, fmt.Errorf("%s: %w", name, packs.ErrDamaged))
		return nil
	}
	c.backup.Bytes += int64(len(text))
	c.backup.Written += int64(len(text))
	err = c.to.Put(ctx, name, int64(len(text)), bytes.NewReader(text))
	c.meter.object(int64(len(text)))
	return err
}

// maxObject is the length in bytes of the largest tree or pack.
const maxObject = 512 << 20

// Backups lists the backups of a place, newest first.
func Backups(ctx context.Context, from packs.Blobs) (all []Backup, err error) {
	names, err := backupNames(ctx, from)
	for _, name := range names {
		b, err := readBackup(ctx, from, name)
		if errors.Is(err, packs.ErrNone) { // removed meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, *b)
	}
	return all, err
}

// backupNames lists the names of the backups' objects, newest first.
func backupNames(ctx context.Context, from packs.Blobs) (names []string, err error) {
	for o, err := range from.List(ctx, backupPrefix) {
		if err != nil {
			return nil, err
		}
		names = append(names, o.Name)
	}
	slices.Sort(names)
	slices.Reverse(names)
	return names, nil
}

func readBackup(ctx context.Context, from packs.Blobs, name string) (*Backup, error) {
	b := new(Backup)
	if err := readJSON(ctx, from, name, b); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

func readJSON(ctx context.Context, from packs.Blobs, name string, v any) error {
	body, err := from.Get(ctx, name, 0, -1)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(body, 16<<20))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}
