package store

import (
	"context"
	"strings"
	"time"
	"unicode"
)

// Keeps which version of Warren wrote a database, for the refusal of an older one.

// versionSetting is the setting with the version of Warren that opened the database last.
const versionSetting = "warren"

// Migration is a step from an older schema to the newest. The numbers are those of the files in migrations/.
type Migration struct{ From, To int64 }

// Guard keeps what an older version needs.
type Guard interface {
	// BeforeMigration may read the database in the data folder. Its error ends Open, and nothing is changed.
	BeforeMigration(ctx context.Context, m Migration) error
}

// NodeGone is how long the beat of a server stands still until it counts as gone (package nodes).
const NodeGone = 15 * time.Second

// longestVersion is how much of a version an error shows, in runes.
const longestVersion = 80

// writtenBy says which version wrote a newer database, as far as its schema can be read: "; warren 2.1.0 wrote it", or "".
func writtenBy(ctx context.Context, db querier) string {
	var version string
	if err := db.QueryRowContext(ctx, "SELECT value FROM settings WHERE name = ?", versionSetting).Scan(&version); err != nil {
		return "" // a version that keeps it elsewhere
	}
	if version = shownVersion(version); version == "" {
		return ""
	}
	return "; warren " + version + " wrote it"
}

// shownVersion is a version as an error shows it: what can be printed of its beginning.
func shownVersion(version string) string {
	shown := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, version))
	return string(shown[:min(len(shown), longestVersion)])
}
