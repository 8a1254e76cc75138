package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"warren/store"
)

// The commands about the database itself. They work on it directly: no server may use it.

type storeCommands struct {
	Copy storeCopy `cmd:"" help:"Copy the database of a data folder to PostgreSQL, or back. The servers of both are stopped."`
}

type storeCopy struct {
	keyFile
	From string `required:"" env:"WARREN_COPY_FROM" placeholder:"DIR|postgres://…" help:"The database to copy: a data folder, or the address of a PostgreSQL database. It is not changed."`
	To   string `required:"" env:"WARREN_COPY_TO" placeholder:"DIR|postgres://…" help:"An empty PostgreSQL database, or a new data folder. A copy that was interrupted goes on."`
	Anew bool   `env:"WARREN_COPY_ANEW" help:"Drop what an interrupted copy has left in the target, and begin again."`
	JSON bool   `name:"json" env:"WARREN_JSON" help:"Print JSON."`
}

// Run copies a database and compares both.
func (s *storeCopy) Run(ctx context.Context, c *console) error {
	if !store.IsPostgres(s.From) && !store.IsPostgres(s.To) {
		return misusef("one of both has to be a PostgreSQL database; warren backup and warren restore copy a data folder with its files")
	}
	private()
	for _, where := range []*string{&s.From, &s.To} {
		unlock, err := s.claim(where)
		if err != nil {
			return err
		}
		defer unlock()
	}
	meter := new(store.TransferMeter)
	stop := reportAs(c.stderr, func() string {
		step, rows := meter.Now()
		return fmt.Sprintf("%s: %d rows", step, rows)
	})
	done, err := store.Transfer(ctx, store.TransferOptions{From: s.From, To: s.To, SecretKeyFile: s.SecretKey, Anew: s.Anew, Meter: meter})
	stop()
	for _, kind := range []error{store.ErrOtherData, store.ErrUnfit, store.ErrDifferent} {
		if errors.Is(err, kind) {
			return refusef("%v", err)
		}
	}
	if err != nil {
		return err
	}
	return s.print(c, done)
}

// claim locks a data folder, so that no server begins to use it. The folder to copy from must be there.
func (s *storeCopy) claim(where *string) (unlock func(), err error) {
	if store.IsPostgres(*where) {
		return func() {}, nil
	}
	if scheme, _, found := strings.Cut(*where, "://"); found {
		return nil, misusef("%s:// is no database for warren: give a data folder, or postgres://USER:PASSWORD@HOST:PORT/DATABASE", scheme)
	}
	if *where, err = filepath.Abs(*where); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(*where, store.FileName)); err != nil && where == &s.From {
		return nil, misusef("%s is no data folder of a server: %w", *where, err)
	}
	if ownedByOther(*where) { // what root writes there the server could not read
		return nil, refusef("%s belongs to another user; run this as that user, such as with: sudo -u USER warren store copy …", *where)
	}
	return claimData(*where)
}

// transferView is a copy as JSON.
type transferView struct {
	Tables        []store.TransferredTable `json:"tables"`
	SecretKeyFile string                   `json:"secretKeyFile"` // of the source; servers of the target need it
	Resumed       bool                     `json:"resumed"`       // an earlier command began it
}

func (s *storeCopy) print(c *console, done *store.Transferred) error {
	if s.JSON {
		return printJSON(c.stdout, transferView{done.Tables, done.KeyFile, done.Resumed})
	}
	table := newTable(c.stdout, "TABLE\tROWS\tSHA-256 OF BOTH\n")
	rows := int64(0)
	for _, t := range done.Tables {
		fmt.Fprintf(table, "%s\t%d\t%s\n", t.Name, t.Rows, t.SHA256)
		rows += t.Rows
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "%d rows of %d tables are in both databases.\n%s\n", rows, len(done.Tables), s.next(done.KeyFile))
	return nil
}

// next says what to do with the copy.
func (s *storeCopy) next(key string) string {
	if !store.IsPostgres(s.To) {
		own := filepath.Join(s.To, "secret.key")
		words := "Bring the folders profiles, snapshots and extensions of the old servers there, and start it with: warren serve --data " +
			s.To
		if _, err := os.Stat(own); err != nil {
			words = "Copy the secret key: cp -p " + key + " " + own + "\n" + words
		}
		return words
	}
	words := "Every server of it needs a copy of the secret key " + key + ", which is in no database. Start one with: warren serve " +
		"--store postgres://… --secret-key-file FILE"
	if !store.IsPostgres(s.From) {
		words += "\nThe files of profiles, snapshots and extensions are still in " + s.From + ": start the first server with --data " +
			s.From + ". Without --store it would go on with the old database there."
	}
	return words
}
