package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// schemaVersion is the number of the last migration applied to a database; 0 for an empty one.
type schemaVersion int64

// newestMigration returns the number of the last file in migrations/.
func newestMigration() schemaVersion {
	names, err := migrations.ReadDir("migrations") // in order
	if err != nil {
		panic(err) // it is a part of the program
	}
	number, _, _ := strings.Cut(names[len(names)-1].Name(), "_")
	newest, _ := strconv.ParseInt(number, 10, 64) //nolint:errcheck // goose refuses a file without a number
	return schemaVersion(newest)
}

// tellEvery is how often the log says that a migration goes on.
const tellEvery = 5 * time.Second

// migrate updates the schema. Each step is a transaction of its own, so that a crash leaves the old or the new
// version. The log shows each step as it begins, while it takes long, and when it has ended.
func migrate(ctx context.Context, file string, found schemaVersion, o Options) (err error) {
	if found == newestMigration() {
		return nil
	}
	db := openPool(dsn(file, migratePragmas), 1)
	defer func() { err = errors.Join(err, db.Close()) }()
	steps, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, steps, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	if found != 0 && o.Warren != "" { // before the first step: half of them is newer than what wrote it last, too
		if err := New(db).SetSetting(ctx, SetSettingParams{Name: versionSetting, Value: o.Warren}); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
	}
	return migrateSteps(ctx, p, found, o.Logger)
}

// migrateSteps runs the steps after the version found.
func migrateSteps(ctx context.Context, p *goose.Provider, found schemaVersion, log *slog.Logger) error {
	begun, all, told := time.Now(), p.ListSources(), log
	if found == 0 { // nobody waits for a new one
		told = slog.New(slog.DiscardHandler)
	}
	for i, source := range all {
		if source.Version <= int64(found) {
			continue
		}
		told := told.With("step", path.Base(source.Path), "of", fmt.Sprintf("%d/%d", i+1, len(all)))
		told.Info("migrating the database")
		stop := tell(tellEvery, func(took time.Duration) { told.Info("still migrating the database", "ms", took.Milliseconds()) })
		done, err := p.UpByOne(ctx)
		stop()
		if err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		told.Info("database migrated", "ms", float64(done.Duration.Microseconds())/1000)
	}
	log.Info("the database has this version's schema", "from", int64(found), "to", int64(newestMigration()),
		"ms", time.Since(begun).Milliseconds())
	return nil
}

// tell calls say at intervals, with the time since the call of tell. stop ends that, and waits for it.
func tell(every time.Duration, say func(took time.Duration)) (stop func()) {
	begun, over, ended := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				say(time.Since(begun))
			case <-over:
				return
			}
		}
	}()
	return func() {
		close(over)
		<-ended
	}
}
