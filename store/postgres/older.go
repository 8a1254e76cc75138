package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Keeps a database as it is while servers use it that could not live with its next schema. Each server has a row in nodes, whose beat
// moves while it serves (package nodes), with the number of the schema that it knows.

// withNodes is the version whose rows have that number.
const withNodes = 23

// errWatched says that servers may live. Whether they do is known a little later.
var errWatched = errors.New("the beats of other servers are watched")

// beat is a row that may be of a living server.
type beat struct {
	count       int64
	incarnation string
	since       time.Time // when this process first saw the count
}

// beats are those of servers that know an older schema.
type beats struct {
	gone time.Duration
	seen map[string]beat // by the ids of their rows
	told bool
}

// since returns the oldest version of a program that can use the newest schema.
func (all Schema) since() (newest int64) {
	for _, one := range all {
		newest = max(newest, one.since)
	}
	return newest
}

// check looks for servers that know no schema as new as since. ErrOlder names those that live. errWatched: some may live. The rows are
// locked until the end of the transaction, so that no server comes meanwhile.
func (b *beats) check(ctx context.Context, tx *sql.Tx, s State, since int64) error {
	if s.Version < withNodes {
		return nil
	}
	if _, err := tx.ExecContext(ctx, "LOCK TABLE nodes IN SHARE ROW EXCLUSIVE MODE"); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	rows, err := tx.QueryContext(ctx, "SELECT id, name, address, version, incarnation, beat FROM nodes "+
		"WHERE stopped = 0 AND schema < $1 AND beat_at > now_ms() - $2", since, b.gone.Milliseconds())
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer rows.Close()
	var live []string
	watched := false
	for rows.Next() {
		var id, name, address, version string
		now := beat{since: time.Now()}
		if err := rows.Scan(&id, &name, &address, &version, &now.incarnation, &now.count); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		before, known := b.seen[id]
		switch {
		case !known:
			b.seen[id], watched = now, true
		case before.count != now.count || before.incarnation != now.incarnation:
			live = append(live, fmt.Sprintf("%s at %s, version %s", name, address, version))
		case time.Since(before.since) < b.gone:
			watched = true
		}
	}
	switch err := rows.Err(); {
	case err != nil:
		return fmt.Errorf("migrate: %w", err)
	case len(live) > 0:
		return fmt.Errorf("%w (%s), and could not use the schema of this one; it was left as it is: end them, then start this one again",
			ErrOlder, strings.Join(live, "; "))
	case watched:
		return errWatched
	}
	return nil
}

// wait is the pause before the beats are looked at again.
func (b *beats) wait(ctx context.Context, log *slog.Logger) error {
	if !b.told {
		b.told = true
		log.Info("a server of an older version did not end in order, or still runs; its beat is watched before the database is migrated",
			"atMost", b.gone)
	}
	select {
	case <-time.After(b.gone / 30):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
