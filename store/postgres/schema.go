package postgres

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

//go:embed migrations
var migrations embed.FS

// Schema is the migrations that a program knows, in their order.
type Schema []step

// step is a migration.
type step struct {
	version int64
	since   int64  // a program that knows this version, or a later one, can use what the step makes
	name    string // of its file
	text    string
}

// sinceMark begins a migration that an older program can live with. The number of the oldest one follows. What such a migration adds has
// defaults, and nothing that an older program reads or writes changes its meaning.
const sinceMark = "-- compatible since "

// Known returns the migrations of this program.
func Known() Schema {
	all, err := ReadSchema(migrations)
	if err != nil {
		panic(err) // they are a part of the program
	}
	return all
}

// ReadSchema returns the migrations of a folder, whose names begin with their numbers.
func ReadSchema(files fs.FS) (Schema, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var all Schema
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		digits, _, _ := strings.Cut(path.Base(name), "_")
		version, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: its name does not begin with a number: %w", name, err)
		}
		one := step{version: version, since: version, name: path.Base(name), text: string(text)}
		if rest, marked := strings.CutPrefix(one.text, sinceMark); marked {
			digits, _, _ := strings.Cut(rest, "\n")
			if one.since, err = strconv.ParseInt(digits, 10, 64); err != nil || one.since > version {
				return nil, fmt.Errorf("%s: %q is no older version", name, digits)
			}
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b step) int { return cmp.Compare(a.version, b.version) })
	return all, nil
}

// Newest returns the number of the last migration.
func (all Schema) Newest() int64 { return all[len(all)-1].version }

// Usable reports whether a database is ours and this program can use it, at the latest once it is migrated.
func (all Schema) Usable(s State) bool { return s.Ours && s.Version > 0 && s.Since <= all.Newest() }
