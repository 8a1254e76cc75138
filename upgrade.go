package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"warren/snapshots"
	"warren/store"
)

// Opens the database. What an older version wrote is backed up and migrated, and what a newer one wrote is refused.

// openStore opens the database of the data folder. The database of a newer version is a refusal, and so is
// one that servers of an older version use.
func (cfg *serveConfig) openStore(ctx context.Context, log *slog.Logger) (*store.Store, error) {
	o := store.Options{Database: cfg.Store, SecretKeyFile: cfg.SecretKey, Logger: log, Spans: cfg.spans, Warren: version}
	if !cfg.NoBackupBefore && cfg.Store == "" {
		o.Guard = migrationBackup{cfg.Data, log}
	}
	st, err := store.Open(ctx, cfg.Data, o)
	if errors.Is(err, store.ErrNewer) || errors.Is(err, store.ErrOlder) || errors.Is(err, store.ErrUnfinished) {
		return nil, refusal{err}
	}
	return st, err
}

// migrationBackup keeps what the version before needs to go on.
type migrationBackup struct {
	data string
	log  *slog.Logger
}

// BeforeMigration implements store.Guard.
func (g migrationBackup) BeforeMigration(ctx context.Context, m store.Migration) error {
	log := g.log
	log.Info("backing the database up before its migration", "schema", m.From, "newSchema", m.To)
	began := time.Now()
	b, err := snapshots.BeforeMigration(ctx, g.data, version, m)
	switch {
	case err != nil:
		return fmt.Errorf("the database was not migrated, since the backup before it failed: %w; mend that in %s and start again, or "+
			"make a backup of your own with the old version and start with --no-backup-before-migration", err,
			filepath.Join(g.data, "backups"))
	case b.Made:
		log.Info("the database was backed up before its migration; the old version can go on with it", "folder", b.Folder,
			"ms", time.Since(began).Milliseconds())
	default:
		log.Info("the migration goes on; the backup of its beginning is there", "folder", b.Folder)
	}
	if b.Stuck != nil {
		log.Warn("older backups of migrations were not removed", "cause", b.Stuck)
	}
	return nil
}
