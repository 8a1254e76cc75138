package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"warren/store/postgres"
)

// Copies a whole database into another one: from SQLite to PostgreSQL or back, or from one PostgreSQL to another.
//
//   - The source is read in one transaction, so that all tables are of one moment. Nothing is changed in it, but that entries of the audit
//     log which its servers have left go into the chain.
//   - Each batch of rows is a transaction of the target. The target carries a mark until everything is copied and compared, and no server
//     opens a database with the mark. Rows go in the order of their keys, so that the highest key says where an interrupted copy goes on.
//   - Triggers do not run on copied rows: counters, and ids of deleted rows, are copied as they are.

// Kinds of error of Transfer, for errors.Is. The error that wraps one says what to do.
var (
	ErrOtherData = errors.New("the target has data already")
	ErrUnfit     = errors.New("the source cannot be copied as it is")
	ErrDifferent = errors.New("the source has changed since the copy was begun")
)

// TransferOptions say what is copied where. A data folder has to be locked by the caller, so that no server uses it.
type TransferOptions struct {
	From string // a data folder, or the address of a PostgreSQL database
	To   string // the same; a folder that is missing is made, but not for another folder as From
	// SecretKeyFile is the key of the source's server. Empty: "secret.key" in the data folder, that of From first.
	SecretKeyFile string
	// Anew drops what an interrupted copy has left in the target, and begins again.
	Anew bool
	// Logger gets the migrations of the target. Nil: no log.
	Logger *slog.Logger
	// Meter counts. Nil: nobody asks.
	Meter *TransferMeter

	live     bool               // servers use the source meanwhile, and its servers' disks are those of the target (CopyPostgres)
	batch    int                // rows of a transaction; 0: batchRows
	patience time.Duration      // with locks of the target; 0: lockPatience
	copied   func(table string) // called after each batch, in tests
}

// Transferred is a complete copy. Both databases were read after it, and are equal.
type Transferred struct {
	Tables  []TransferredTable
	KeyFile string // the secret key of the source, which the server of the target needs too
	Resumed bool   // the copy was begun by an earlier call
}

// TransferredTable says what a table has, in both databases.
type TransferredTable struct {
	Name   string `json:"name"`
	Rows   int64  `json:"rows"`
	SHA256 string `json:"sha256"` // over all values of all rows in the order of their keys
}

// IsPostgres reports whether a text is the address of a PostgreSQL database, and no data folder.
func IsPostgres(where string) bool { return postgres.IsAddress(where) }

// transfer is one copy.
type transfer struct {
	TransferOptions
	tables []copiedTable
	from   *transferSource
	to     *transferTarget
	id     string // of the source
	sums   map[string]tableSum
	audit  auditKey     // of a PostgreSQL source
	late   []AuditEntry // of a live source: those that are not in its chain
}

// Transfer copies a database into an empty one, which gets the newest schema first. It goes on with a copy that was interrupted. The error
// is ErrOtherData, ErrUnfit, ErrDifferent, ErrUnfinished for a source that is half a copy itself, or one of Open. Nothing was written if
// it is ErrUnfit or ErrOtherData. After any other error the target keeps its mark.
func Transfer(ctx context.Context, o TransferOptions) (*Transferred, error) {
	return transferWith(ctx, o, chainPending)
}

// pendingAudit takes entries of the audit log that wait for their place in the chain there. It is called with a PostgreSQL source, before
// that is read.
type pendingAudit func(ctx context.Context, db *sql.DB, key auditKey) error

// chainPending does it as a server does.
func chainPending(ctx context.Context, db *sql.DB, key auditKey) error {
	texts, err := postgres.ReadTexts()
	if err != nil {
		return err
	}
	e := &pgEngine{store: &Store{audit: key}, texts: texts, writes: db, reads: db}
	return e.chainUp(ctx)
}

func transferWith(ctx context.Context, o TransferOptions, pending pendingAudit) (_ *Transferred, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.batch == 0 {
		o.batch = batchRows
	}
	if !postgres.IsAddress(o.From) && !postgres.IsAddress(o.To) {
		return nil, fmt.Errorf("%w: both are data folders; warren backup and warren restore copy one, with its profiles' files", ErrUnfit)
	}
	if o.patience == 0 {
		o.patience = lockPatience
	}
	t := &transfer{TransferOptions: o, tables: copiedTables(), sums: map[string]tableSum{}}
	if t.from, err = openSource(ctx, o.From); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.from.close()) }()
	keyFile, err := t.checkSource(ctx, pending)
	if err != nil {
		return nil, err
	}
	if t.to, err = lookAtTarget(ctx, o.To, o.patience); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.to.close()) }()
	if err := t.readSource(ctx); err != nil {
		return nil, err
	}
	resumed, err := t.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = interrupted(ctx, err) }()
	for _, table := range t.tables {
		if err := t.copyTable(ctx, table); err != nil {
			return nil, fmt.Errorf("copy %s: %w", table.name, err)
		}
	}
	done, err := t.finish(ctx)
	if err != nil {
		return nil, err
	}
	done.KeyFile, done.Resumed = keyFile, resumed
	return done, nil
}

// interrupted says what to do after a transfer was cancelled or has lost the database.
func interrupted(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil { // what fails then says less
		err = ctx.Err()
	} else if fault, _, _ := postgres.FaultOf(err); fault != postgres.Gone {
		return err
	}
	return fmt.Errorf("the copy was interrupted: %w; repeat the command, which goes on with it", err)
}

// checkSource verifies that the source is complete and that the secret key is its own. It returns the file of the key.
func (t *transfer) checkSource(ctx context.Context, pending pendingAudit) (keyFile string, err error) {
	if err := checkFinished(ctx, t.from.tx); err != nil {
		return "", fmt.Errorf("%s: %w", t.from.name, err)
	}
	canary, err := settingOf(ctx, t.from.tx, canaryName)
	if errors.Is(err, ErrNoRow) {
		return "", fmt.Errorf("%w: no server has used %s yet, so that there is nothing to copy", ErrUnfit, t.from.name)
	}
	if err != nil {
		return "", err
	}
	if _, err := settingOf(ctx, t.from.tx, pendingSteps); err == nil {
		return "", fmt.Errorf("%w: the upgrade of %s was interrupted; start its server once, which completes it", ErrUnfit, t.from.name)
	} else if !errors.Is(err, ErrNoRow) {
		return "", err
	}
	sum := sha256.Sum256([]byte("warren transfer\n" + canary))
	t.id = hex.EncodeToString(sum[:])
	keyFile, ring, err := t.key(canary)
	if err != nil || !t.from.postgres {
		return keyFile, err
	}
	return keyFile, t.completeAudit(ctx, ring, pending)
}

// key reads the secret key of the source.
func (t *transfer) key(canary string) (file string, ring keyring, err error) {
	file = t.SecretKeyFile
	inTarget := filepath.Join(t.To, secretKeyName)
	_, missing := os.Stat(inTarget)
	switch {
	case file != "":
	case !postgres.IsAddress(t.From):
		file = filepath.Join(t.From, secretKeyName)
	case postgres.IsAddress(t.To) || missing != nil:
		return "", ring, fmt.Errorf("%w: it is not known; name the key of the source's servers with --secret-key-file", ErrSecretKey)
	default:
		file = inTarget
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return "", ring, fmt.Errorf("%w: there is no %s; name the key of the source's server with --secret-key-file", ErrSecretKey, file)
	}
	master, err := readSecretKey("", file, false)
	if err != nil {
		return "", ring, err
	}
	if ring, err = newKeyring(master); err != nil {
		return "", ring, err
	}
	if err := checkCanary(ring, canary); err != nil {
		return "", ring, err
	}
	if postgres.IsAddress(t.To) || missing != nil {
		return file, ring, nil
	}
	if has, err := readSecretKey("", inTarget, false); err != nil || !slices.Equal(has, master) {
		return "", ring, fmt.Errorf("%w: %s is not the key of the source; name another folder", ErrOtherData, inTarget)
	}
	return file, ring, nil
}

// completeAudit takes the entries of the audit log into the chain that servers of the source have left. SQLite has no table for them, so
// that a source with more is refused: a server still writes to it. Those of a live source are kept for the chain of the target.
func (t *transfer) completeAudit(ctx context.Context, ring keyring, pending pendingAudit) error {
	var err error
	if t.audit, err = newAuditKey(ring); err != nil {
		return err
	}
	if err := pending(ctx, t.from.pool, t.audit); err != nil {
		return fmt.Errorf("complete the audit log: %w", err)
	}
	if err := t.from.renew(ctx); err != nil {
		return err
	}
	if t.live {
		return t.readLate(ctx)
	}
	var n int64
	if err := t.from.tx.QueryRowContext(ctx, "SELECT count(*) FROM audit_pending").Scan(&n); err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	if n > 0 {
		return fmt.Errorf("%w: %d entries of the audit log are not in its chain yet, since a server writes to it; stop its servers",
			ErrUnfit, n)
	}
	return nil
}

// readSource reads every row: how many there are, their hash, and whether the target can keep them. Both need the same columns.
func (t *transfer) readSource(ctx context.Context) error {
	var faults textFaults
	for i := range t.tables {
		table := &t.tables[i]
		var err error
		if table.columns, err = t.from.columns(ctx, t.from.tx, table.name, t.keepsPlaces()); err != nil {
			return err
		}
		check := func([]any) {}
		if t.to.keepsNoNUL() {
			check = func(row []any) { faults.look(*table, row) }
		}
		t.Meter.begin("reading " + table.name)
		if t.sums[table.name], err = t.sum(ctx, t.from.tx, *table, check); err != nil {
			return fmt.Errorf("read %s: %w", table.name, err)
		}
	}
	return faults.error()
}

// finish compares both databases and takes the mark away.
func (t *transfer) finish(ctx context.Context) (*Transferred, error) {
	done := &Transferred{}
	var wrong []string
	for _, table := range t.tables {
		t.Meter.begin("verifying " + table.name)
		got, err := t.sum(ctx, t.to.conn, table, func([]any) {})
		if err != nil {
			return nil, fmt.Errorf("verify %s: %w", table.name, err)
		}
		want := t.sums[table.name]
		if got != want {
			wrong = append(wrong, fmt.Sprintf("%s has %d rows (SHA-256 %s), the source %d (%s)", table.name, got.Rows, got.SHA256,
				want.Rows, want.SHA256))
		}
		done.Tables = append(done.Tables, TransferredTable{table.name, got.Rows, got.SHA256})
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("%w: the copy is not equal to the source: %q; begin it anew (--anew)", ErrUnfinished, wrong)
	}
	return done, t.to.transact(ctx, func(tx *sql.Tx) error {
		if err := t.to.complete(ctx, tx, t.tables); err != nil {
			return err
		}
		if err := t.appendLate(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM settings WHERE name = '"+copyingSetting+"'")
		return err
	})
}

// shownAddress is an address of PostgreSQL without what is secret, for people.
func shownAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the PostgreSQL database"
	}
	return "postgres://" + u.Host + u.Path
}
