package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"warren/store/postgres"
)

// twins run the same operations on both databases, each in one transaction that is undone in the end.
type twins struct {
	rng            *rand.Rand
	lite, other    *sql.Tx
	ofLite, ofPG   reflect.Value // of *Queries
	texts          postgres.Texts
	effects        map[string]int // by query: how often it found or changed something, in both alike
	tables, didNow []string       // didNow: what was called, for the report
}

// TestBothAnswers calls every query with random values on both databases. Answers, refusals and all rows have to be the same.
func TestBothAnswers(t *testing.T) {
	t.Parallel()
	b := newBothTexts(t)
	tables := list(t, b.sqlite, `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
		AND name NOT LIKE 'sqlite_%' AND name <> 'goose_db_version'`)
	effects := map[string]int{}
	for seed := range uint64(often(6)) {
		b.compare(t, seed, 1500, tables, effects)
		if t.Failed() {
			return
		}
	}
	var idle []string
	for name := range b.texts {
		if effects[name] == 0 {
			idle = append(idle, name)
		}
	}
	slices.Sort(idle)
	t.Logf("%d queries had an effect; not: %v", len(effects), idle)
	if !raceDetector && !testing.Short() && len(idle) > len(b.texts)/10 {
		t.Errorf("%d queries of %d never had an effect", len(idle), len(b.texts))
	}
}

func (b bothTexts) compare(t *testing.T, seed uint64, steps int, tables []string, effects map[string]int) {
	t.Helper()
	lite, err := b.sqlite.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer lite.Rollback()
	other, err := b.postgres.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback()
	e := &twins{rng: rand.New(rand.NewPCG(seed, 1)), lite: lite, other: other, ofLite: reflect.ValueOf(New(lite)), texts: b.texts,
		ofPG: reflect.ValueOf(New(postgres.NewStatements(other, b.texts, true))), effects: effects, tables: tables}
	var all, inserts []string
	for name := range b.texts {
		all = append(all, name)
		if strings.Contains(b.texts[name], "\nINSERT") {
			inserts = append(inserts, name)
		}
	}
	slices.Sort(all)
	slices.Sort(inserts)
	for step := range steps {
		name := all[e.rng.IntN(len(all))]
		if seldom := strings.Contains(b.texts[name], "\nDELETE"); e.rng.IntN(5) < 2 || seldom && e.rng.IntN(2) == 0 {
			name = inserts[e.rng.IntN(len(inserts))]
		}
		if step < 3 {
			name = "EnsureWorkspace"
		}
		if fault := e.step(t, name); fault != "" {
			t.Errorf("seed %d, step %d: %s\nbefore:\n%s", seed, step, fault, strings.Join(e.didNow[max(0, len(e.didNow)-10):], "\n"))
			return
		}
	}
}

// step calls a query on both. It says what differs; "": nothing.
func (e *twins) step(t *testing.T, name string) string {
	t.Helper()
	args := []reflect.Value{reflect.ValueOf(t.Context())}
	method := e.ofLite.MethodByName(name)
	for i := 1; i < method.Type().NumIn(); i++ {
		v := reflect.New(method.Type().In(i)).Elem()
		e.fill(v, name, "")
		args = append(args, v)
	}
	called := name
	if len(args) > 1 {
		called += " " + asJSON(args[1].Interface())
	}
	if _, err := e.other.Exec("SAVEPOINT step"); err != nil {
		t.Fatal(err)
	}
	lite, errLite := answer(method.Call(args))
	other, errOther := answer(e.ofPG.MethodByName(name).Call(args))
	if errOther != nil && errOther != sql.ErrNoRows {
		if _, err := e.other.Exec("ROLLBACK TO step"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.other.Exec("RELEASE step"); err != nil {
		t.Fatal(err)
	}
	a, b := refusal(errLite), refusalOfPostgres(errOther)
	if both := a != "" && b != ""; a != b && !(both && a == ErrQuota.Error()) { // of two reasons SQLite has the quota first
		return fmt.Sprintf("%s (%v), on PostgreSQL %s (%v): %s", a, errLite, b, errOther, called)
	}
	if errLite != nil {
		return ""
	}
	if ties := name == "ListPacksGoing" || name == "TrimSessions"; ties || !strings.Contains(e.texts[name], "ORDER BY") {
		slices.Sort(lite)
		slices.Sort(other)
	}
	if !slices.Equal(lite, other) {
		return fmt.Sprintf("%v, on PostgreSQL %v: %s", lite, other, called)
	}
	if nothing := []string{"0"}; len(lite) > 0 && !slices.Equal(lite, nothing) && !slices.Equal(lite, []string{"[]"}) {
		e.effects[name]++
	}
	if strings.Contains(e.texts[name], "\nSELECT") && !strings.Contains(e.texts[name], "INSERT") {
		return ""
	}
	e.didNow = append(e.didNow, called)
	for _, table := range e.tables {
		if changed := strings.Contains(e.texts[name], table); !changed && len(e.didNow)%10 != 0 { // triggers change others
			continue
		}
		a, b := tableRows(t, e.lite, table), tableRows(t, e.other, table)
		if !slices.Equal(a, b) {
			return fmt.Sprintf("rows of %s:\n%s\n%s", table, strings.Join(difference(a, b), "\n"), called)
		}
		if strings.HasSuffix(e.texts[name], ":exec") && len(a) > 0 {
			e.effects[name]++
		}
	}
	return ""
}

// answer returns what a query answered, a text for each row, and its error.
func answer(results []reflect.Value) (rows []string, err error) {
	if e, ok := results[len(results)-1].Interface().(error); ok {
		err = e
	}
	if len(results) == 1 {
		return []string{"done"}, err
	}
	v := results[0]
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8 {
		for i := range v.Len() {
			rows = append(rows, asJSON(v.Index(i).Interface()))
		}
		return rows, err
	}
	return []string{asJSON(v.Interface())}, err
}

// asJSON is a value as JSON. The numbers of checks and times of the databases' clocks are not the same in both.
func asJSON(v any) string {
	if node, ok := v.(Node); ok {
		node.BeatAt, node.StartedAt = seen(node.BeatAt), seen(node.StartedAt)
		v = node
	}
	if n, ok := v.(int64); ok {
		v = seen(n)
	}
	if check, ok := v.(ProxyCheck); ok {
		check.Seq = 0
		v = check
	}
	if pack, ok := v.(Pack); ok {
		pack.SeenAt = seen(pack.SeenAt)
		v = pack
	}
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	if string(out) == "null" { // SQLite's driver returns bytes of no length as nil
		return `""`
	}
	return strings.ReplaceAll(string(out), ":null", `:""`)
}

// seen is a time: a small number that the test made, or now.
func seen(at int64) int64 {
	if at > 1e9 {
		return -1
	}
	return at
}

// tableRows returns the rows of a table, sorted.
func tableRows(t *testing.T, tx *sql.Tx, table string) (out []string) {
	t.Helper()
	rows, err := tx.QueryContext(context.Background(), "SELECT * FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		var line strings.Builder
		for i, name := range names {
			switch column := table + "." + name; column {
			case "proxy_checks.seq", "deleted.at":
				continue
			case "packs.seen_at", "nodes.beat_at", "nodes.started_at", "duties.until", "tickets.until":
				values[i] = seen(values[i].(int64))
			}
			if b, ok := values[i].([]byte); ok {
				values[i] = string(b) // as above
			}
			fmt.Fprintf(&line, "%s=%#v ", name, values[i])
		}
		out = append(out, line.String())
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// refusal is the kind of an error of SQLite.
func refusal(err error) string {
	for _, kind := range []error{ErrNoRow, ErrUnique, ErrReference, ErrQuota} {
		if err != nil && errors.Is(Typed(err), kind) {
			return kind.Error()
		}
	}
	if err != nil {
		return "refused"
	}
	return ""
}

func refusalOfPostgres(err error) string {
	switch fault, constraint, _ := postgres.FaultOf(err); {
	case err == nil:
		return ""
	case err == sql.ErrNoRows:
		return ErrNoRow.Error()
	case fault == postgres.Unique:
		return ErrUnique.Error()
	case fault == postgres.Reference:
		return ErrReference.Error()
	case constraint == "quota":
		return ErrQuota.Error()
	case fault == postgres.Check, fault == postgres.NotNull, fault == postgres.Trigger:
		return "refused"
	}
	return "a fault of PostgreSQL"
}
