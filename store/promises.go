package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"warren/store/postgres"
)

// Says what a server of PostgreSQL promises about what is committed.

// Promises are settings of a server of PostgreSQL.
type Promises struct {
	Version  string   // "15.13"
	Off      []string // of fsync, full_page_writes and synchronous_commit: what is off
	ReadOnly bool     // it is a standby
	Standbys int64    // that follow it now
	// Waits says that a commit waits until a standby has it.
	Waits bool
}

// promisesTime is how long a server may take to answer.
const promisesTime = 10 * time.Second

// ReadPromises asks the server of a database for its settings. It changes nothing, and needs no right but to connect.
func ReadPromises(ctx context.Context, address string) (p Promises, err error) {
	ctx, cancel := context.WithTimeout(ctx, promisesTime)
	defer cancel()
	db, err := postgres.Open(address, 1, postgres.Settings{ReadOnly: true})
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var fsync, pages, commit, names string
	err = db.QueryRowContext(ctx, "SELECT current_setting('server_version'), current_setting('fsync'), "+
		"current_setting('full_page_writes'), current_setting('synchronous_commit'), current_setting('synchronous_standby_names'), "+
		"pg_is_in_recovery(), (SELECT count(*) FROM pg_stat_replication)").Scan(&p.Version, &fsync, &pages, &commit, &names, &p.ReadOnly,
		&p.Standbys)
	if err != nil {
		return p, fmt.Errorf("ask %s: %w", shownAddress(address), err)
	}
	for _, s := range [][2]string{{"fsync", fsync}, {"full_page_writes", pages}, {"synchronous_commit", commit}} {
		if s[1] == "off" {
			p.Off = append(p.Off, s[0])
		}
	}
	p.Waits = names != "" && commit != "off" && commit != "local"
	return p, nil
}
