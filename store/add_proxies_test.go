package store

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"
)

// counter counts the statements that go through it.
type counter struct {
	DBTX
	n int
}

func (c *counter) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	c.n++
	return c.DBTX.ExecContext(ctx, query, args...)
}

func (c *counter) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	c.n++
	return c.DBTX.QueryContext(ctx, query, args...)
}

// TestAddProxies: a thousand proxies take one statement to find and one to insert. The rows equal InsertProxy's.
func TestAddProxies(t *testing.T) {
	s := openTest(t)
	ensure(t, s, "a", "b")
	ctx := context.Background()
	var rows []Proxy
	for i := range 1000 {
		p := Proxy{ID: newID(), WorkspaceID: "a", Type: "http", Host: "h.example", Port: int64(i + 1), Username: "Üser \"'\\",
			Name: "n\n", Tags: `["a","b"]`, Notes: "=1+1", RotateURL: "https://r.example/?a=1&b=2"}
		if i%2 == 0 {
			p.Password, _ = s.Seal("proxies", "password", p.ID, []byte{0, 1, byte(i)})
		}
		rows = append(rows, p)
	}
	began := time.Now()
	statements := 0
	mustWrite(t, s, func(q *Queries) error {
		c := &counter{DBTX: q.db}
		q = New(c)
		if found, err := q.FindAddresses(ctx, "a", nil, rows); err != nil || len(found) != 0 {
			return fmt.Errorf("found %d in an empty workspace: %w", len(found), err)
		}
		err := q.AddProxies(ctx, "a", 7, rows)
		statements = c.n
		return err
	})
	t.Logf("1,000 proxies: %d statements, %v", statements, time.Since(began))
	if statements != 2 {
		t.Errorf("%d statements, want 2", statements)
	}
	for workspace, want := range map[string]int{"a": 1000, "b": 0} {
		found, err := s.Read().FindAddresses(ctx, workspace, nil, rows)
		if err != nil || len(found) != want || want > 0 && found[999] != rows[999].ID {
			t.Errorf("%s: %d found, %v", workspace, len(found), err)
		}
	}
	for _, i := range []int{0, 1, 999} {
		got, err := s.Read().GetProxy(ctx, GetProxyParams{ID: rows[i].ID})
		want := rows[i]
		want.Status, want.Revision, want.CreatedAt, want.UpdatedAt = "unknown", 1, 7, 7
		if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("row %d: %+v %v, want %+v", i, got, err, want)
		}
		plain, err := s.Unseal("proxies", "password", got.ID, got.Password)
		if i%2 == 0 && (err != nil || plain[2] != byte(i)) {
			t.Errorf("row %d: %v %v", i, plain, err)
		}
	}
	if totals, err := s.Read().Totals(ctx, nil); err != nil || totals.Proxies != 1000 {
		t.Errorf("total %d %v", totals.Proxies, err)
	}
	if err := s.Write(ctx, func(q *Queries) error { return q.AddProxies(ctx, "a", 7, rows[:1]) }); err == nil {
		t.Error("the same address twice was taken")
	}
}
