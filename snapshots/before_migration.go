package snapshots

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"warren/store"
)

// Keeps what an older version needs to go on, before a newer one changes the schema: a copy of the database as it is, and hard links
// to its objects. MakeBackup cannot do that: it opens its copy, and so gives it the new schema.

const (
	migrationFolder = "backups" // of a data folder
	migrationPrefix = "before-"
	migrationNew    = ".new-" // begins the name of one that is not whole
	migrationFile   = "backup.json"
	migrationKeep   = 2
)

// MigrationBackup says what a backup before a migration holds. It is the file backup.json in its folder.
type MigrationBackup struct {
	MadeAt time.Time `json:"madeAt"`
	Warren string    `json:"warren"` // the version that was about to migrate
	From   int64     `json:"from"`   // the schema of the copy
	To     int64     `json:"to"`
	Folder string    `json:"-"`
	Made   bool      `json:"-"` // false: an earlier start made it, whose migration now goes on
	Stuck  error     `json:"-"` // why older ones were not removed
}

// BeforeMigration backs a data folder up to a new folder in its folder "backups". Its server must not run yet. The newest two stay, one for
// each pair of schemas. A migration that was cut off goes on without another backup: the one of its beginning is what the older
// version needs.
func BeforeMigration(ctx context.Context, data, warren string, m store.Migration) (*MigrationBackup, error) {
	place := filepath.Join(data, migrationFolder)
	if err := errors.Join(store.MakeFolder(place), removeFolders(place, time.Time{}, migrationNew)); err != nil {
		return nil, err
	}
	all, err := migrationBackups(place)
	if err != nil {
		return nil, err
	}
	if len(all) > 0 && all[0].To == m.To && all[0].From < m.From {
		return &all[0], nil
	}
	b := MigrationBackup{MadeAt: time.Now().UTC(), Warren: warren, From: m.From, To: m.To, Made: true}
	b.Folder = filepath.Join(place, migrationPrefix+fileName(warren)+"-"+b.MadeAt.Format("20060102T150405.000Z"))
	aside, err := os.MkdirTemp(place, migrationNew)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(aside) //nolint:errcheck // after a success there is none
	if err := b.write(ctx, data, aside); err != nil {
		return nil, err
	}
	if err := errors.Join(os.Rename(aside, b.Folder), store.SyncFolder(place)); err != nil {
		return nil, err
	}
	b.Stuck = thinMigrationBackups(append([]MigrationBackup{b}, all...))
	return &b, nil
}

// fileName is a version as a part of a file's name.
func fileName(version string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '.' || r == '+' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return '_'
	}, version)
}

// write fills a folder. backup.json comes last.
func (b *MigrationBackup) write(ctx context.Context, data, folder string) error {
	if err := store.Copy(ctx, data, filepath.Join(folder, store.FileName)); err != nil {
		return err
	}
	for _, name := range []string{"snapshots", "extensions"} {
		if err := linkAll(ctx, filepath.Join(data, name), filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return store.WriteFile(filepath.Join(folder, migrationFile), string(text)+"\n")
}

// linkAll makes hard links to all files of a folder in a new one. Their bytes never change: their names are sums or ids.
func linkAll(ctx context.Context, from, to string) error {
	var made []string
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == from {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case e.IsDir():
			made = append(made, target)
			return os.Mkdir(target, 0o700)
		case e.Type().IsRegular():
			return os.Link(path, target)
		}
		return nil
	})
	for _, folder := range made {
		if err == nil {
			err = store.SyncFolder(folder)
		}
	}
	return err
}

// migrationBackups lists the whole backups of a place, newest first. What else lies there is left alone.
func migrationBackups(place string) (all []MigrationBackup, err error) {
	entries, err := os.ReadDir(place)
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), migrationPrefix) {
			continue
		}
		b := MigrationBackup{Folder: filepath.Join(place, e.Name())}
		text, failed := os.ReadFile(filepath.Join(b.Folder, migrationFile))
		if failed == nil && json.Unmarshal(text, &b) == nil {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b MigrationBackup) int { return b.MadeAt.Compare(a.MadeAt) })
	return all, err
}

// thinMigrationBackups removes all but the newest of each pair of schemas, and of these all but the newest two. A start that fails again
// and again so does not push the others out.
func thinMigrationBackups(all []MigrationBackup) (err error) {
	kept := map[store.Migration]bool{}
	for _, b := range all {
		m := store.Migration{From: b.From, To: b.To}
		if !kept[m] && len(kept) < migrationKeep {
			kept[m] = true
			continue
		}
		err = errors.Join(err, os.RemoveAll(b.Folder))
	}
	return err
}
