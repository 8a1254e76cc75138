package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"warren/events"
	"warren/packs"
	"warren/snapshots"
)

// The server's own backups, one after another.

// checkBackups notes what is wrong with the flags of backups, and opens their place. It makes a folder absolute.
func (c *serveConfig) checkBackups(f *faults) {
	if c.BackupEvery != 0 && c.BackupEvery < time.Minute {
		f.add("--backup-every is %v, and must be a minute or longer", c.BackupEvery)
	}
	if c.BackupKeep < 0 {
		f.add("--backup-keep is %d, and must be how many backups stay, or 0 for all", c.BackupKeep)
	}
	switch {
	case (c.BackupEvery != 0) != (c.BackupTo != ""):
		f.add("--backup-every and --backup-to go together: name a folder or a bucket, and how often")
	case isTar(c.BackupTo):
		f.add("--backup-to %q is one file; name a folder or a bucket, which gets what it does not have yet", c.BackupTo)
	case isBucket(c.BackupTo):
	case c.BackupTo != "":
		if abs, err := filepath.Abs(c.BackupTo); err == nil {
			c.BackupTo = abs
		}
	}
	to, err := openBlobs(c.BackupTo, c.S3Plain, os.Getenv)
	if err != nil {
		f.add("--backup-to: %w", err)
	}
	c.backupTo = to
}

// backupRetry is how long after a backup that failed the next one is tried.
const backupRetry = 10 * time.Minute

// keepBackups makes a backup when the last one of the place is old enough, until ctx ends.
func (p *product) keepBackups(ctx context.Context, cfg *serveConfig) {
	if cfg.BackupEvery == 0 {
		return
	}
	to := cfg.backupTo
	wait := time.Duration(0)
	all, err := snapshots.Backups(ctx, to)
	if i := slices.IndexFunc(all, func(b snapshots.Backup) bool { return b.Node == p.nodes.Owner() }); err == nil && i >= 0 {
		wait = min(time.Until(all[i].MadeAt.Add(cfg.BackupEvery)), cfg.BackupEvery) // the clock may have been set back since
		p.backup.made(all[i].MadeAt)
	}
	for {
		select {
		case <-time.After(max(0, wait)):
		case <-ctx.Done():
			return
		}
		if wait = cfg.BackupEvery; !p.backUp(ctx, cfg, to) {
			wait = min(wait, backupRetry)
		}
	}
}

// backupEvent is the data of backup.made and backup.failed, which administrators receive.
type backupEvent struct {
	ID           string `json:"id,omitempty"`
	Profiles     int64  `json:"profiles,omitempty"`
	WrittenBytes int64  `json:"writtenBytes,omitempty"`
	Message      string `json:"message,omitempty"` // why it failed
}

// backUp makes one backup, and publishes how that went.
func (p *product) backUp(ctx context.Context, cfg *serveConfig, to packs.Blobs) bool {
	began := time.Now()
	b, err := snapshots.MakeBackup(ctx, snapshots.BackupOptions{Data: cfg.Data, To: to, Warren: version, Database: cfg.Store,
		KeyFile: cfg.SecretKey, WithKey: !cfg.BackupNoKey})
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		p.log.Error("a backup failed; the next one is tried soon", "place", cfg.BackupTo, "cause", err)
		p.events.Publish(events.Event{Type: "backup.failed", Key: events.Administrators, Data: backupEvent{Message: err.Error()}})
		return false
	}
	p.backup.made(b.MadeAt)
	p.log.Info("a backup was made", "place", cfg.BackupTo, "id", b.ID, "profiles", b.Profiles, "snapshots", b.Snapshots,
		"written", b.Written, "ms", time.Since(began).Milliseconds())
	p.events.Publish(events.Event{Type: "backup.made", Key: events.Administrators, Data: backupEvent{ID: b.ID, Profiles: b.Profiles,
		WrittenBytes: b.Written}})
	p.thin(ctx, cfg, to, b)
	return true
}

// thin removes old backups.
func (p *product) thin(ctx context.Context, cfg *serveConfig, to packs.Blobs, made *snapshots.Backup) {
	if cfg.BackupKeep == 0 {
		return
	}
	thinned, err := snapshots.Thin(ctx, snapshots.ThinOptions{At: to, Keep: cfg.BackupKeep, Made: made})
	if err != nil && ctx.Err() == nil {
		p.log.Error("old backups were not all removed; the next backup tries it again", "place", cfg.BackupTo, "cause", err)
	}
	if err == nil && thinned.Backups+thinned.Objects > 0 {
		p.log.Info(removed(thinned), "place", cfg.BackupTo)
	}
}
