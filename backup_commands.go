package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"warren/packs"
	"warren/snapshots"
	"warren/store"
)

// Commands that back a data folder up, restore one and check it. They work on its files: a server may run on it, or none.

// keyFile is the secret key of the data folder's server.
type keyFile struct {
	SecretKey string `name:"secret-key-file" env:"WARREN_SECRET_KEY_FILE" placeholder:"FILE" help:"The server's secret key, if it is not in the data folder."`
}

// databaseFlag is where the state of the data folder's server is.
type databaseFlag struct {
	Store string `name:"store" env:"WARREN_STORE" placeholder:"postgres://HOST/NAME" help:"The PostgreSQL database with the state, as serve has it. Default: warren.db in the data folder."`
}

func (d *databaseFlag) check() error {
	if d.Store == "" {
		return nil
	}
	if err := store.CheckAddress(d.Store); err != nil {
		return misusef("--store %w", err)
	}
	return nil
}

type backupCommand struct {
	browserData
	keyFile
	databaseFlag
	bucketFlags
	Place string `arg:"" placeholder:"DIR|s3://BUCKET/PREFIX|FILE.tar" help:"A folder or a bucket, which gets what it does not have yet, or a new tar file. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL say how to get into a bucket."`
	Keep  int    `default:"0" env:"WARREN_KEEP" help:"Remove older backups of this data folder, so that this many of the newest stay. 0: all stay."`
	NoKey bool   `name:"no-key" env:"WARREN_NO_KEY" help:"Leave secret.key out. Without it nobody can read passwords and snapshots: keep it elsewhere."`
}

// Run makes a backup.
func (b *backupCommand) Run(ctx context.Context, c *console) error {
	if err := errors.Join(b.find(), b.check()); err != nil {
		return err
	}
	if b.Keep < 0 || b.Keep > 0 && isTar(b.Place) {
		return misusef("--keep is how many backups of a folder or a bucket stay, 0 for all")
	}
	private()
	to, finish, err := openPlace(b.Place, b.S3Plain)
	if err != nil {
		return err
	}
	began, meter := time.Now(), new(snapshots.Meter)
	stop := report(c.stderr, meter)
	defer stop()
	made, err := snapshots.MakeBackup(ctx, snapshots.BackupOptions{Data: b.Data, To: to, Warren: version, Database: b.Store,
		KeyFile: b.SecretKey, WithKey: !b.NoKey, Meter: meter})
	if err = finish(err); err != nil {
		return fmt.Errorf("the backup was not made: %w", err)
	}
	var thinned *snapshots.Thinned
	var failed error
	if b.Keep > 0 {
		thinned, failed = snapshots.Thin(ctx, snapshots.ThinOptions{At: to, Keep: b.Keep, Made: made, Meter: meter})
	}
	stop()
	if err := b.print(c, made, time.Since(began)); err != nil {
		return err
	}
	if failed != nil {
		return fmt.Errorf("the backup was made, but not all old ones were removed: %w", failed)
	}
	if thinned != nil && !b.JSON {
		fmt.Fprintln(c.stdout, removed(thinned))
	}
	return nil
}

func (b *backupCommand) print(c *console, made *snapshots.Backup, took time.Duration) error {
	if b.JSON {
		return printJSON(c.stdout, viewOf(made))
	}
	fmt.Fprintf(c.stdout, "backup %s: %d profiles, %d snapshots in %d objects; %s written in %s\n", made.ID, made.Profiles, made.Snapshots,
		made.Objects, size(made.Written), took.Round(time.Millisecond))
	if made.Elsewhere > 0 {
		fmt.Fprintf(c.stdout, "%d snapshots in the database are on other servers, and not in this backup: back each server up.\n",
			made.Elsewhere)
	}
	if _, err := os.Stat(filepath.Join(b.Data, "node.json")); err == nil && b.Store == "" {
		fmt.Fprintf(c.stderr, "The server of %s has used a PostgreSQL database. If it still does, this backup is of the old warren.db: "+
			"give --store.\n", b.Data)
	}
	if b.NoKey {
		fmt.Fprintln(c.stderr, "The backup has no secret.key. A restore needs it: keep a copy of it in another safe place.")
	}
	return nil
}

// backupView is a backup as JSON.
type backupView struct {
	ID            string    `json:"id"`
	MadeAt        time.Time `json:"madeAt"`
	Profiles      int64     `json:"profiles"`
	Snapshots     int64     `json:"snapshots"`
	Objects       int64     `json:"objects"`
	DatabaseBytes int64     `json:"databaseBytes"`
	WrittenBytes  int64     `json:"writtenBytes"`
	Node          string    `json:"node,omitempty"`      // the id of the server, if it is one of those that share a database
	Elsewhere     int64     `json:"elsewhere,omitempty"` // snapshots in the database that other servers have
}

func viewOf(b *snapshots.Backup) backupView {
	return backupView{b.ID, b.MadeAt, b.Profiles, b.Snapshots, b.Objects, b.Database.Size, b.Written, b.Node, b.Elsewhere}
}

type restoreCommand struct {
	browserData
	keyFile
	bucketFlags
	Place  string `arg:"" placeholder:"DIR|s3://BUCKET/PREFIX|FILE.tar" help:"Where the backups are."`
	Backup string `env:"WARREN_BACKUP" placeholder:"ID" help:"The backup. Default: the newest."`
	List   bool   `env:"WARREN_LIST" help:"List the backups, and restore none."`
}

// Run restores a backup to a new data folder.
func (r *restoreCommand) Run(ctx context.Context, c *console) error {
	from, closer, err := openBackups(r.Place, r.S3Plain)
	if err != nil {
		return err
	}
	defer closer.Close()
	if r.List {
		return r.list(ctx, c, from)
	}
	if err := r.find(); err != nil {
		return err
	}
	private()
	meter := new(snapshots.Meter)
	stop := report(c.stderr, meter)
	b, err := snapshots.Restore(ctx, snapshots.RestoreOptions{From: from, ID: r.Backup, Data: r.Data, Key: r.SecretKey, Meter: meter})
	stop()
	switch {
	case errors.Is(err, snapshots.ErrNotEmpty):
		return refusef("%s: %v", r.Data, err)
	case err != nil:
		return fmt.Errorf("nothing was restored: %w", err)
	}
	next := "Start it with: warren serve --data " + r.Data
	if b.Node != "" {
		next = "Its state was in PostgreSQL. If that database is still there, start it with: warren serve --store postgres://… --data " +
			r.Data + "\nIf not, make it anew first: warren store copy --from " + r.Data + " --to postgres://…"
	}
	fmt.Fprintf(c.stdout, "%s is as it was at %s: %d profiles, %d snapshots. %s\n", r.Data, b.MadeAt.Local().Format(time.DateTime),
		b.Profiles, b.Snapshots, next)
	return nil
}

func (r *restoreCommand) list(ctx context.Context, c *console, from packs.Blobs) error {
	all, err := snapshots.Backups(ctx, from)
	if err != nil {
		return err
	}
	views := []backupView{}
	for i := range all {
		views = append(views, viewOf(&all[i]))
	}
	if r.JSON {
		return printJSON(c.stdout, views)
	}
	for _, v := range views {
		fmt.Fprintf(c.stdout, "%s  %s  %d profiles, %d snapshots\n", v.ID, v.MadeAt.Local().Format(time.DateTime), v.Profiles, v.Snapshots)
	}
	return nil
}

type checkCommand struct {
	browserData
	keyFile
	databaseFlag
	bucketFlags
	Place   string `arg:"" optional:"" placeholder:"DIR|s3://BUCKET/PREFIX|FILE.tar" help:"Where backups are. Default: check the data folder."`
	Backup  string `env:"WARREN_BACKUP" placeholder:"ID" help:"The backup to check. Default: the newest."`
	ReadAll bool   `name:"read-all" env:"WARREN_READ_ALL" help:"Read every byte of every object, and compare it with its name."`
}

// Run checks a data folder or a backup. Faults are an error.
func (k *checkCommand) Run(ctx context.Context, c *console) error {
	o := snapshots.CheckOptions{ID: k.Backup, KeyFile: k.SecretKey, ReadAll: k.ReadAll}
	if k.Place == "" {
		if err := errors.Join(k.find(), k.check()); err != nil {
			return err
		}
		o.Data, o.Database = k.Data, k.Store
	} else {
		from, closer, err := openBackups(k.Place, k.S3Plain)
		if err != nil {
			return err
		}
		defer closer.Close()
		o.From = from
	}
	private()
	found, err := snapshots.Check(ctx, o)
	if err != nil {
		return err
	}
	if k.JSON {
		err = printJSON(c.stdout, found)
	} else {
		for _, fault := range found.Faults {
			fmt.Fprintln(c.stdout, "fault:", fault)
		}
		fmt.Fprintln(c.stdout, found)
	}
	if err == nil && len(found.Faults) > 0 {
		err = fmt.Errorf("%d faults; restore a backup, or go back to another snapshot of the profiles that are named", len(found.Faults))
	}
	return err
}

// size writes a number of bytes for people.
func size(bytes int64) string {
	switch {
	case bytes >= 10<<20:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes >= 10<<10:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
