package snapshots

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"warren/events"
	"warren/packs"
	"warren/store"
)

// Checks that what the database says of snapshots and what the objects hold is the same, both ways. Packages of extensions must be there.

// CheckOptions say what is checked.
type CheckOptions struct {
	Data    string      // a data folder, whose server may run; "" with From
	From    packs.Blobs // a place of backups
	ID      string      // of the backup; "" is the newest
	KeyFile string      // the secret key; "" is that of the data folder or of the backup
	// Database is the address of the PostgreSQL database of the data folder's server. "": it is in the data folder.
	Database string
	ReadAll  bool // read every byte of every object
}

// Checked is the outcome of a check.
type Checked struct {
	Snapshots int      `json:"snapshots"`
	Objects   int      `json:"objects"`
	Bytes     int64    `json:"bytes"`        // of the objects
	Faults    []string `json:"faults"`       // what is wrong, one sentence each
	Audit     int      `json:"auditEntries"` // of the audit log, in order
	Unneeded  int      `json:"unneeded"`     // objects that no snapshot needs; the collection deletes them
	Elsewhere int64    `json:"elsewhere"`    // snapshots in the database whose objects other servers have; they are not checked

	PackagesElsewhere int `json:"packagesElsewhere"` // packages of extensions that are not here, while other servers have profiles
}

// Check checks a data folder or a backup. It changes nothing.
func Check(ctx context.Context, o CheckOptions) (out *Checked, err error) {
	base := o.Data
	if base == "" {
		base = os.TempDir()
	}
	temp, err := os.MkdirTemp(base, checkFolder)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	blobs, backup, key, err := o.open(ctx, temp)
	if err != nil {
		return nil, err
	}
	st, err := openCopy(ctx, temp, key, "")
	if err != nil {
		return nil, err
	}
	k := New(o.Data, nil, st, events.New())
	k.blobs = blobs
	c := &checking{Keeper: k, data: o.Data, backup: backup, all: o.ReadAll, needed: map[string]bool{}, sizes: map[string]int64{},
		sums: map[string]bool{}}
	if err = c.choose(ctx); err == nil {
		err = c.run(ctx)
	}
	return &c.Checked, errors.Join(err, st.Close())
}

// open copies the database into a folder, and returns the objects, the backup, nil for a data folder, and the file of the key.
func (o CheckOptions) open(ctx context.Context, temp string) (blobs packs.Blobs, b *Backup, key string, err error) {
	database := filepath.Join(temp, store.FileName)
	if o.From == nil {
		key = o.KeyFile
		if key == "" {
			key = filepath.Join(o.Data, keyName)
		}
		return packs.Folder(filepath.Join(o.Data, "snapshots")), nil, key, copyDatabase(ctx, o.Data, o.Database, key, temp)
	}
	if b, err = chosen(ctx, o.From, o.ID); err != nil {
		return nil, nil, "", err
	}
	if err := b.restoreDatabase(ctx, o.From, database, nil); err != nil {
		return nil, nil, "", err
	}
	key = o.KeyFile
	for _, f := range b.Files {
		if f.Name == keyName && key == "" {
			key = filepath.Join(temp, keyName)
			err = os.WriteFile(key, f.Text, 0o600)
		}
	}
	if key == "" {
		err = fmt.Errorf("the backup has no %s; name the one of its server with --secret-key-file", keyName)
	}
	return o.From, b, key, err
}

// checking is one check.
type checking struct {
	*Keeper
	Checked
	data   string  // of a data folder
	backup *Backup // nil: a data folder
	server string  // the id of the server among those that share a database; "": it is none
	own    held    // what of the database's objects has to be there
	all    bool
	sizes  map[string]int64 // of the objects that are there
	needed map[string]bool
	sums   map[string]bool // packs whose bytes were read
}

// choose says which objects have to be there.
func (c *checking) choose(ctx context.Context) (err error) {
	if c.backup != nil {
		c.server, c.Elsewhere = c.backup.Node, c.backup.Elsewhere
		c.own, err = c.backup.holds(ctx, c.blobs)
		return err
	}
	if c.server, err = nodeOf(c.data); err == nil {
		c.own, c.Elsewhere, err = ownObjects(ctx, c.store, c.server, c.blobs)
	}
	return err
}

func (c *checking) fault(format string, args ...any) {
	c.Faults = append(c.Faults, fmt.Sprintf(format, args...))
}

// audit verifies that nobody has changed the audit log.
func (c *checking) audit(ctx context.Context) error {
	entries, fault, err := c.store.CheckAudit(ctx)
	if c.Audit = entries; fault != "" {
		c.fault("%s", fault)
	}
	return err
}

func (c *checking) run(ctx context.Context) error {
	for _, prefix := range []string{packs.TreePrefix, packs.PackPrefix, packagesPrefix} {
		for o, err := range c.blobs.List(ctx, prefix) {
			if err != nil {
				return err
			}
			c.sizes[o.Name] = o.Size
			c.Objects++
			c.Bytes += o.Size
		}
	}
	for after := ""; ; {
		rows, err := c.store.Read().ListSnapshotsAfter(ctx, store.ListSnapshotsAfterParams{After: after, Limit: walkAtOnce})
		if err != nil {
			return err
		}
		for _, s := range rows {
			if !c.own.has(packs.TreePrefix + s.ID) {
				continue
			}
			c.Snapshots++
			if err := c.snapshot(ctx, s); err != nil {
				return err
			}
		}
		if len(rows) < walkAtOnce {
			break
		}
		after = rows[len(rows)-1].ID
	}
	if err := c.packages(ctx); err != nil {
		return err
	}
	if err := c.audit(ctx); err != nil {
		return err
	}
	for name := range c.sizes {
		if !c.needed[name] {
			c.Unneeded++
		}
	}
	heads, err := c.store.Read().ListMissingHeads(ctx, walkAtOnce)
	for _, id := range heads {
		c.fault("the profile %s goes on from a snapshot that is not there", id)
	}
	return err
}

// snapshot checks one snapshot: its tree, the rows of its packs, and the packs.
func (c *checking) snapshot(ctx context.Context, s store.Snapshot) error {
	c.needed[packs.TreePrefix+s.ID] = true
	v, _, err := c.vault(ctx, s.WorkspaceID)
	if err != nil {
		return err
	}
	t, err := c.tree(ctx, v, s)
	if err != nil {
		c.fault("the snapshot %s of the profile %s cannot be read: %v", s.ID, s.ProfileID, err)
		return ctx.Err()
	}
	rows, err := c.store.Read().ListPacksOfSnapshot(ctx, s.ID)
	if err != nil {
		return err
	}
	var named []string
	fresh := false
	for _, p := range t.Packs {
		named = append(named, p.Name)
		object := packs.PackName(p.Name)
		c.needed[object] = true
		if size, there := c.sizes[object]; !there || size != p.Size {
			c.fault("the pack %s, which the snapshot %s needs, has %d bytes, not %d", p.Name, s.ID, size, p.Size)
		}
		fresh = fresh || !c.sums[p.Name]
		c.sums[p.Name] = true
	}
	if slices.Sort(named); !slices.Equal(named, rows) {
		c.fault("the database names other packs for the snapshot %s than its tree", s.ID)
	}
	if c.all && fresh {
		if err := v.Check(ctx, t, true); err != nil && ctx.Err() == nil {
			c.fault("the snapshot %s of the profile %s: %s", s.ID, s.ProfileID, strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	return ctx.Err()
}

// String says what was found, for people.
func (c *Checked) String() string {
	elsewhere := ""
	if c.Elsewhere > 0 {
		elsewhere = fmt.Sprintf("; %d snapshots of other servers were not looked at", c.Elsewhere)
	}
	if c.PackagesElsewhere > 0 {
		elsewhere += fmt.Sprintf("; %d packages of extensions are not here, but may be on other servers", c.PackagesElsewhere)
	}
	return fmt.Sprintf("%d snapshots, %d objects, %d MiB; %d objects are not needed any more; %d entries of the audit log; %d faults%s",
		c.Snapshots, c.Objects, c.Bytes>>20, c.Unneeded, c.Audit, len(c.Faults), elsewhere)
}
