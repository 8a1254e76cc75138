package postgres

import (
	"context"
	"database/sql"
	"strings"
	"testing"
)

func TestReadTexts(t *testing.T) {
	t.Parallel()
	texts, err := ReadTexts()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(texts); n < 206 {
		t.Errorf("%d queries", n)
	}
	for name, text := range texts {
		if !strings.HasPrefix(text, mark+name+" :") || strings.Contains(text, ";") || strings.Contains(text, "?") {
			t.Errorf("%s is %q", name, text)
		}
	}
}

func TestTextsThatAreRefused(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"-- name: A :one\nSELECT 1;\n\n-- name: A :one\nSELECT 2;\n": "A is there twice",
		"SELECT 1;\n\n-- name: A :one\nSELECT 2;\n":                  "a query has no name: SELECT 1",
		"-- name: A :one\nSELECT 1;\n\nSELECT 2;\n":                  "A is followed by a query without a name",
		"-- name: :one\nSELECT 1;\n":                                 "a query has no name or no text",
		"-- name: A :one\n-- A does it.\n":                           "a query has no name or no text",
		"-- name: A\nSELECT 1;\n":                                    "a query has no name or no text",
		"-- A comment.\n-- name: A :one\n-- A does it.\nSELECT 1;\n": "",
	} {
		err := Texts{}.add(file)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", file, err, want)
		}
	}
}

func TestTextOf(t *testing.T) {
	t.Parallel()
	texts := Texts{"GetRun": mark + "GetRun :one\nSELECT $1"}
	for query, want := range map[string]string{
		"-- name: GetRun :one\nSELECT ?1\n":                texts["GetRun"],
		"-- name: GetNothing :one\nSELECT ?1\n":            "",
		"SELECT ?, ? WHERE a = '?' AND \"?\" = ? LIMIT ?":  "SELECT $1, $2 WHERE a = '?' AND \"?\" = $3 LIMIT $4",
		"SELECT ?2, ?1, ?10, ?":                            "SELECT $2, $1, $10, $11",
		"SELECT 'it''s ?', ?":                              "SELECT 'it''s ?', $1",
		"SELECT $1::text, $2":                              "SELECT $1::text, $2",
		"SELECT at FROM audit WHERE at > ?1 OR at = ?1":    "SELECT at FROM audit WHERE at > $1 OR at = $1",
		"/* ? */ is no comment here: it would be replaced": "/* $1 */ is no comment here: it would be replaced",
	} {
		if text, ok := texts.Of(query); text != want || ok != (want != "") {
			t.Errorf("%q: %q, %v, want %q", query, text, ok, want)
		}
	}
}

// sent keeps what a statement comes to.
type sent struct {
	DBTX
	query string
	args  []any
	ctx   context.Context //nolint:containedctx // it is looked at
}

func (s *sent) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	s.ctx, s.query, s.args = ctx, query, args
	return nil, nil
}

func TestValues(t *testing.T) {
	t.Parallel()
	yes, nul, list := true, "a\x00b", `["a\u0000b"]`
	const read, write, deletes = "SELECT $1::text", "UPDATE a SET b = $1", "DELETE FROM a WHERE b = $1"
	const ofList = "SELECT json_array_elements_text($1::text::json)"
	for _, c := range []struct {
		text      string
		arg, want any
	}{
		{write, true, int64(1)},
		{write, false, int64(0)},
		{write, &yes, int64(1)},
		{write, (*bool)(nil), nil},
		{write, int64(7), int64(7)},
		{write, (*string)(nil), (*string)(nil)},
		{write, nul, nul},
		{write, &nul, &nul},
		{read, nul, "a\uffffb"},
		{read, &nul, "a\uffffb"},
		{deletes, nul, "a\uffffb"},
		{mark + "A :one\n" + read, nul, "a\uffffb"},
		{read, "a\xffb", "a\uffffb"},
		{write, "a\xffb", "a\xffb"},
		{read, list, list},
		{ofList, list, `["a` + "\uffff" + `b"]`},
		{ofList, &list, `["a` + "\uffff" + `b"]`},
		{ofList, "null", "[]"},
		{read, "null", "null"},
		{"INSERT INTO a SELECT json_array_elements_text($1::text::json)", list, list},
		{"SELECT json_array_elements_text($11::text::json), $1::text", list, list},
	} {
		db := &sent{}
		s := NewStatements(db, nil, false)
		if _, err := s.ExecContext(t.Context(), c.text, c.arg); err != nil && !strings.HasPrefix(c.text, mark) {
			t.Fatal(err)
		}
		if strings.HasPrefix(c.text, mark) { // the texts are the program's
			db.args = values(c.text, []any{c.arg})
		}
		if db.args[0] != c.want {
			t.Errorf("%s of %#v: %#v, want %#v", c.text, c.arg, db.args[0], c.want)
		}
	}
	args := []any{true}
	if values(write, args); args[0] != true {
		t.Error("the caller's arguments were changed")
	}
}

func TestDetach(t *testing.T) {
	t.Parallel()
	for _, detach := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		db := &sent{}
		if _, err := NewStatements(db, nil, detach).ExecContext(ctx, "SELECT 1"); err != nil {
			t.Fatal(err)
		}
		if ended := db.ctx.Err() != nil; ended == detach {
			t.Errorf("detach %v: the context has ended: %v", detach, ended)
		}
	}
}

func TestNoText(t *testing.T) {
	t.Parallel()
	_, err := NewStatements(&sent{}, Texts{}, false).ExecContext(t.Context(), "-- name: GetNothing :one\nSELECT 1")
	if err == nil || !strings.Contains(err.Error(), "GetNothing has no text") {
		t.Error(err)
	}
}
