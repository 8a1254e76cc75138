package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Fault is what an error of the database means.
type Fault int

// The faults. Only None says nothing: there is no error, it is the caller's context's, or it is none of these.
const (
	None          Fault = iota
	Unique              // a unique constraint or a primary key
	Reference           // a foreign key
	Check               // a CHECK, or a quota, whose constraint is "quota"
	NotNull             // a column without a value
	Trigger             // RAISE in a trigger
	Text                // text with NUL, or that is not UTF-8
	TooLarge            // a row or a text beyond what the server takes, such as 2,700 bytes in an index
	DiskFull            // the server's disk
	Busy                // a lock was not free in time, or the server is out of memory
	Serialization       // the transaction has to be run again from its beginning
	ReadOnly            // a standby, or a transaction that only reads
	Damaged             // the server found its own data damaged
	IO                  // the server's disk failed
	NoSuch              // a table, a column or a function that the statement names
	TooMany             // the server takes no more connections
	Gone                // there is no connection, or it was lost. Whether a COMMIT came through is unknown
	Refused             // user, password, database, a right, or a setting in the address
)

// FaultOf returns what an error means, the constraint that it names if it names one, and what the server or the network says. It
// returns None, "" and "" without an error.
func FaultOf(err error) (fault Fault, constraint, message string) {
	if err == nil {
		return None, "", ""
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		fault = faultOfState(pg.Code)
		switch {
		case pg.Routine == replanned: // another server has changed the schema
			fault = Serialization
		case pg.Code == "0A000" && strings.Contains(strings.ToLower(pg.Routine), "serializable"), pg.Routine == "check_XactIsoLevel":
			fault = ReadOnly // a standby has no transactions that are SERIALIZABLE
		case pg.Severity == "FATAL" && (strings.HasPrefix(pg.Code, "22") || strings.HasPrefix(pg.Code, "42")): // a setting in the address
			fault = Refused
		case fault == None && (pg.Severity == "FATAL" || pg.Severity == "PANIC"):
			fault = Gone
		}
		return fault, pg.ConstraintName, pg.Message
	}
	if isGone(err) {
		return Gone, "", err.Error()
	}
	return None, "", err.Error()
}

// Lost reports whether an error is of a connection that was lost, so that another one may serve. It is none that could not be made, and
// none on which the server was silent: another one would fare no better.
func Lost(err error) bool {
	if _, made := errors.AsType[*pgconn.ConnectError](err); made {
		return false
	}
	if _, silent := errors.AsType[silentError](err); silent {
		return false
	}
	fault, _, _ := FaultOf(err)
	return fault == Gone
}

// replanned is where PostgreSQL finds that a prepared statement has other columns than before. Its message is in the server's language.
const replanned = "RevalidateCachedQuery"

// isGone reports whether an error that the server did not send means that there is no connection.
func isGone(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok { // its own timeout is a context.DeadlineExceeded
		return true
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	for _, kind := range []error{driver.ErrBadConn, sql.ErrConnDone, pgconn.ErrConnClosed} {
		if errors.Is(err, kind) {
			return true
		}
	}
	_, lost := errors.AsType[lostError](err)
	return lost || pgconn.SafeToRetry(err)
}

// faultsOfStates are the faults of the codes of https://www.postgresql.org/docs/15/errcodes-appendix.html. Two characters are a class. The
// first one that fits counts.
var faultsOfStates = []struct {
	codes string
	fault Fault
}{
	{"23505 23P01", Unique},
	{"23503", Reference},
	{"23514", Check},
	{"23502", NotNull},
	{"P0001", Trigger},
	{"22021 22P05", Text},
	{"53100", DiskFull},
	{"40001 40P01", Serialization},
	{"25006", ReadOnly},
	{"XX001 XX002", Damaged},
	{"42P01 42703 42883 3F000", NoSuch},
	{"53300 53400", TooMany},
	{"53000 53200 55P03 55006 57014", Busy},
	{"25P03 57P01 57P02 57P03 57P04 57P05 08", Gone},
	{"3D000 42501 28", Refused},
	{"54", TooLarge},
	{"58", IO},
}

func faultOfState(code string) Fault {
	for _, f := range faultsOfStates {
		for one := range strings.FieldsSeq(f.codes) {
			if strings.HasPrefix(code, one) {
				return f.fault
			}
		}
	}
	return None
}
