package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// DBTX runs statements: a *sql.DB, a *sql.Conn or a *sql.Tx.
type DBTX interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Statements runs the queries that sqlc made for SQLite on PostgreSQL: each by the text of its name, with values as PostgreSQL takes
// them. It keeps no prepared statements, since each connection of the driver does.
//
//   - A bool is 0 or 1, since the columns are BIGINT.
//   - PostgreSQL's text holds no NUL and nothing but UTF-8. A statement that stores nothing looks for other text instead, which no row
//     has. One that stores such text fails.
type Statements struct {
	on     DBTX
	texts  Texts
	detach bool
}

// NewStatements runs statements on a pool, a connection or a transaction. With detach they ignore the end of the caller's context: a
// statement that is cut off ends the connection, and its transaction.
func NewStatements(on DBTX, texts Texts, detach bool) *Statements {
	return &Statements{on: on, texts: texts, detach: detach}
}

// ExecContext runs a query that returns no rows.
func (s *Statements) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	text, err := s.text(query)
	if err != nil {
		return nil, err
	}
	return s.on.ExecContext(s.context(ctx), text, values(text, args)...)
}

// PrepareContext prepares the text. The caller has to pass values as PostgreSQL takes them, and to close the statement.
func (s *Statements) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	text, err := s.text(query)
	if err != nil {
		return nil, err
	}
	return s.on.PrepareContext(s.context(ctx), text)
}

// QueryContext runs a query that returns rows.
func (s *Statements) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	text, err := s.text(query)
	if err != nil {
		return nil, err
	}
	return s.on.QueryContext(s.context(ctx), text, values(text, args)...)
}

// QueryRowContext runs a query that returns one row at most.
func (s *Statements) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	text, err := s.text(query)
	if err != nil {
		text = query // only the driver can return a Row with an error
	}
	return s.on.QueryRowContext(s.context(ctx), text, values(text, args)...)
}

func (s *Statements) context(ctx context.Context) context.Context {
	if s.detach {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

func (s *Statements) text(query string) (string, error) {
	text, ok := s.texts.Of(query)
	if !ok {
		name, _ := nameOf(query)
		return "", fmt.Errorf("the query %s has no text for PostgreSQL: add it to store/postgres/queries", name)
	}
	return text, nil
}

// values returns a statement's arguments as PostgreSQL takes them. It changes nothing of the caller's.
func values(text string, args []any) []any {
	var out []any // nil: as they are
	for i, arg := range args {
		if v, other := value(text, i+1, arg); other {
			if out == nil {
				out = slices.Clone(args)
			}
			out[i] = v
		}
	}
	if out == nil {
		return args
	}
	return out
}

// value returns the argument of a number, and whether it is another than the given one.
func value(text string, number int, arg any) (v any, other bool) {
	switch x := arg.(type) {
	case bool:
		return bit(x), true
	case *bool:
		if x == nil {
			return nil, true
		}
		return bit(*x), true
	case string:
		if s := sought(text, number, x); s != x {
			return s, true
		}
	case *string:
		if x == nil {
			return arg, false
		}
		if s := sought(text, number, *x); s != *x {
			return s, true
		}
	}
	return arg, false
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// nothing is a character that no text has: Unicode has none of this number.
const nothing = "\uffff"

// sought returns what a statement that stores nothing looks for in place of a text that PostgreSQL cannot hold. In a list in JSON,
// NUL is an escape, and null stands for the list that Go calls nil.
func sought(text string, number int, s string) string {
	plain := !strings.Contains(s, "\x00") && utf8.ValidString(s)
	if plain && s != "null" && !strings.Contains(s, `\u0000`) {
		return s
	}
	if strings.Contains(text, "$"+strconv.Itoa(number)+"::text::json") {
		if s == "null" {
			return "[]"
		}
		if storesNothing(text) {
			s = strings.ReplaceAll(s, `\u0000`, nothing)
		}
	}
	if !plain && storesNothing(text) {
		s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", nothing), nothing)
	}
	return s
}

// storesNothing reports whether a statement's text arguments are conditions only.
func storesNothing(text string) bool {
	text = withoutComments(text)
	return strings.HasPrefix(text, "SELECT") || strings.HasPrefix(text, "DELETE")
}
