package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"warren/store/postgres"
)

// Reads, hashes and inserts the rows of a transfer.

const (
	batchRows  = 1000    // of a transaction
	batchBytes = 4 << 20 // of a transaction, about: what is in memory at once
)

// copiedTable is a table of a transfer.
type copiedTable struct {
	name    string
	key     []string // the columns of the primary key
	where   string   // leaves out rows; "": none
	columns []string // without those that are generated; read from the source
}

// copiedTables are all tables with state, without those of the servers of one database (nodes, duties), and without tickets and deals,
// which are valid for minutes. Each comes after those that its rows refer to.
func copiedTables() []copiedTable {
	table := func(name string, key ...string) copiedTable {
		if len(key) == 0 {
			key = []string{"id"}
		}
		return copiedTable{name: name, key: key}
	}
	settings := table("settings", "name")
	settings.where = "name <> '" + copyingSetting + "'"
	return []copiedTable{table("workspaces"), table("keys"), table("proxies"), table("proxy_checks", "seq"), table("profiles"),
		table("templates"), table("schedules"), table("webhooks"), table("webhook_deliveries", "webhook_id", "id"), table("extensions"),
		table("snapshots"), table("packs", "name"), table("snapshot_packs", "snapshot_id", "pack"), table("runs"),
		table("run_hosts", "run_id"), table("traffic", "run_id", "proxy_id", "day"), table("picks", "profile_id", "tag"),
		table("audit", "seq"), table("audit_index", "seq"), table("audit_chain"), table("idempotency", "key_id", "idem_key", "target"),
		settings, table("deleted", "id", "kind")}
}

// names returns quoted names with commas.
func names(columns []string) string { return `"` + strings.Join(columns, `", "`) + `"` }

// rows is the query for rows in the order of their keys. after is a condition for those that come later; "": all.
func (c copiedTable) rows(after string) string {
	text := "SELECT " + names(c.columns) + " FROM " + names([]string{c.name})
	conditions := slices.DeleteFunc([]string{c.where, after}, func(s string) bool { return s == "" })
	if len(conditions) > 0 {
		text += " WHERE " + strings.Join(conditions, " AND ")
	}
	return text + " ORDER BY " + names(c.key)
}

// last is the query for the highest key.
func (c copiedTable) last() string {
	c.columns = c.key
	all, _, _ := strings.Cut(c.rows(""), " ORDER BY ")
	return all + ` ORDER BY "` + strings.Join(c.key, `" DESC, "`) + `" DESC LIMIT 1`
}

// keyOf returns the key of a row, for people.
func (c copiedTable) keyOf(row []any) string {
	var parts []string
	for _, column := range c.key {
		parts = append(parts, fmt.Sprint(row[slices.Index(c.columns, column)]))
	}
	return fmt.Sprintf("%q", strings.Join(parts, " "))
}

// each calls fn with every row of a query. The values are int64, string, []byte or nil.
func each(ctx context.Context, on DBTX, query string, args []any, fn func(row []any) error) error {
	rows, err := on.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i := range row {
			if blob, ok := row[i].([]byte); ok {
				row[i] = notNull(blob)
			}
		}
		if err := fn(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// sum counts and hashes the rows of a table, and shows each to check.
func (t *transfer) sum(ctx context.Context, on DBTX, table copiedTable, check func(row []any)) (tableSum, error) {
	h := rowHash{sum: sha256.New()}
	n := int64(0)
	err := each(ctx, on, table.rows(""), nil, func(row []any) error {
		n++
		t.Meter.rows(1)
		check(row)
		return h.add(row)
	})
	return tableSum{n, hex.EncodeToString(h.sum.Sum(nil))}, err
}

// rowHash hashes rows. Each value has its kind and its length in front, so that no two lists of rows are equal.
type rowHash struct {
	sum  hash.Hash
	text []byte
}

func (h *rowHash) add(row []any) error {
	b := h.text[:0]
	for _, value := range row {
		switch v := value.(type) {
		case nil:
			b = append(b, 0)
		case int64:
			b = binary.BigEndian.AppendUint64(append(b, 1), uint64(v)) //nolint:gosec // its bits
		case string:
			b = append(binary.BigEndian.AppendUint64(append(b, 2), uint64(len(v))), v...)
		case []byte:
			b = append(binary.BigEndian.AppendUint64(append(b, 3), uint64(len(v))), v...)
		default:
			return fmt.Errorf("a value of type %T, which no table has", value)
		}
	}
	h.text = b
	h.sum.Write(b)
	return nil
}

// sizeOf is about what a row takes in memory, in bytes.
func sizeOf(row []any) int {
	n := 32 * len(row)
	for _, value := range row {
		switch v := value.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		}
	}
	return n
}

// copyTable copies the rows of a table that the target does not have yet.
func (t *transfer) copyTable(ctx context.Context, table copiedTable) error {
	t.Meter.begin("copying " + table.name)
	after, err := t.lastKey(ctx, table)
	if err != nil {
		return err
	}
	var batch [][]any
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := t.insert(ctx, table, batch)
		t.Meter.rows(int64(len(batch)))
		batch, size = batch[:0], 0
		if t.copied != nil {
			t.copied(table.name)
		}
		return err
	}
	err = each(ctx, t.from.tx, table.rows(t.from.behind(table.key, after)), after, func(row []any) error {
		batch = append(batch, row)
		if size += sizeOf(row); len(batch) < t.batch && size < batchBytes {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// lastKey returns the highest key in the target; nil: there is no row.
func (t *transfer) lastKey(ctx context.Context, table copiedTable) (key []any, err error) {
	err = each(ctx, t.to.conn, table.last(), nil, func(row []any) error {
		key = row
		return nil
	})
	return key, err
}

// behind is the condition for rows whose key is above the parameters; "" without any.
func (d sqlDialect) behind(key []string, after []any) string {
	if after == nil {
		return ""
	}
	return "(" + names(key) + ") > " + d.params(1, len(key))
}

// insert inserts rows in one transaction, in which the triggers of the table are off.
func (t *transfer) insert(ctx context.Context, table copiedTable, rows [][]any) error {
	err := t.to.transact(ctx, func(tx *sql.Tx) error { return t.insertIn(ctx, tx, table, rows) })
	if !isOfARow(err) {
		return err
	}
	for _, row := range rows { // to name the one that the target refuses
		var refused error
		undone := t.to.transact(ctx, func(tx *sql.Tx) error {
			refused = t.insertIn(ctx, tx, table, [][]any{row})
			return errUndone
		})
		if refused != nil && errors.Is(undone, errUndone) {
			return fmt.Errorf("the row %s: %w", table.keyOf(row), refused)
		}
	}
	return err
}

// errUndone rolls back.
var errUndone = errors.New("undone")

// isOfARow reports whether a row is why a statement failed.
func isOfARow(err error) bool {
	if se, ok := errors.AsType[*sqlite.Error](err); ok {
		return se.Code()&0xff == sqlite3.SQLITE_CONSTRAINT || se.Code() == sqlite3.SQLITE_TOOBIG
	}
	fault, _, _ := postgres.FaultOf(err)
	return slices.Contains([]postgres.Fault{postgres.Unique, postgres.Reference, postgres.Check, postgres.NotNull, postgres.Text,
		postgres.TooLarge}, fault)
}

func (t *transfer) insertIn(ctx context.Context, tx *sql.Tx, table copiedTable, rows [][]any) error {
	loud, err := t.to.quiet(ctx, tx, table.name)
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(rows, t.to.rowsAtOnce(len(table.columns))) {
		if err := t.insertChunk(ctx, tx, table, chunk); err != nil {
			return err
		}
	}
	return loud()
}

// transferParams is how many parameters a statement has at most. SQLite takes 32,766 and PostgreSQL 65,535; longer ones are no faster.
const transferParams = 8000

func (t *transfer) insertChunk(ctx context.Context, tx *sql.Tx, table copiedTable, rows [][]any) error {
	var values []string
	var args []any
	for i, row := range rows {
		values = append(values, t.to.params(i*len(row)+1, len(row)))
		args = append(args, row...)
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO "+names([]string{table.name})+" ("+names(table.columns)+") VALUES "+
		strings.Join(values, ", "), args...)
	return err
}

// textFaults are texts that PostgreSQL cannot keep.
type textFaults struct {
	first []string
	count int
}

// maxTextFaults is how many texts an error names.
const maxTextFaults = 20

func (f *textFaults) look(table copiedTable, row []any) {
	for i, value := range row {
		text, ok := value.(string)
		why := ""
		switch {
		case !ok:
		case strings.ContainsRune(text, 0):
			why = "has the character NUL"
		case !utf8.ValidString(text):
			why = "is not UTF-8"
		}
		if why == "" {
			continue
		}
		if f.count++; len(f.first) < maxTextFaults {
			f.first = append(f.first, fmt.Sprintf("%s %s: %s %s", table.name, table.keyOf(row), table.columns[i], why))
		}
	}
}

func (f *textFaults) error() error {
	if f.count == 0 {
		return nil
	}
	return fmt.Errorf("%w: PostgreSQL cannot keep %d of its texts. Change them with the source's server, or delete the rows. They are:\n%s",
		ErrUnfit, f.count, strings.Join(f.first, "\n"))
}

// TransferMeter counts what a transfer has done. It may be read meanwhile.
type TransferMeter struct {
	step atomic.Pointer[string]
	done atomic.Int64
}

// Now returns what goes on, such as "copying profiles", and how many of that table's rows are done.
func (m *TransferMeter) Now() (step string, rows int64) {
	if s := m.step.Load(); s != nil {
		step = *s
	}
	return step, m.done.Load()
}

func (m *TransferMeter) begin(step string) {
	if m != nil {
		m.done.Store(0)
		m.step.Store(&step)
	}
}

func (m *TransferMeter) rows(n int64) {
	if m != nil {
		m.done.Add(n)
	}
}
