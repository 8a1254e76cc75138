package store

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"testing"

	"golang.org/x/sync/errgroup"

	"warren/testnet"
)

// notOfPoolers are the settings of connections that PgBouncer does not know. docs/postgres.md has them.
func notOfPoolers() []string {
	return []string{"lock_timeout", "idle_in_transaction_session_timeout", "client_connection_check_interval", "tcp_keepalives_idle",
		"tcp_keepalives_interval", "tcp_keepalives_count", "tcp_user_timeout", "jit", "default_transaction_isolation",
		"default_transaction_read_only", "enable_seqscan", "statement_timeout"}
}

// TestPooler: two servers work through PgBouncer, which leaves out the settings of connections. In transaction mode the address says that
// no statement is prepared. LISTEN does not work there, and the events come by the poll.
func TestPooler(t *testing.T) {
	t.Parallel()
	for mode, more := range map[string]string{"session": "", "transaction": "&prepared_statements=off"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			server := testnet.OwnPostgres(t)
			u, err := url.Parse(server.NewDatabase())
			if err != nil {
				t.Fatal(err)
			}
			u.Host = server.Pooler(mode, notOfPoolers()...)
			dir := t.TempDir()
			a := openIn(t, dir, Options{Database: u.String() + more})
			b := openIn(t, t.TempDir(), Options{Database: u.String() + more, SecretKeyFile: filepath.Join(dir, secretKeyName)})
			ensure(t, a, "w")
			servers := []*Store{a, b}
			var group errgroup.Group
			for n := range 4 {
				group.Go(func() error {
					for i := range 10 {
						if err := seenElsewhere(ctx, servers[(n+i)%2], servers[(n+i+1)%2], fmt.Sprint(n, "-", i)); err != nil {
							return err
						}
						if err := servers[i%2].Write(ctx, func(q *Queries) error { return q.Record(entryOf(100*n + i)) }); err != nil {
							return err
						}
					}
					return nil
				})
			}
			if err := group.Wait(); err != nil {
				t.Fatal(err)
			}
			assertCounters(t, a)
			if n, fault, err := b.CheckAudit(ctx); n != 40 || fault != "" || err != nil {
				t.Errorf("%d entries, %q, %v", n, fault, err)
			}
			wake := b.Bus().Follow()
			if err := a.Bus().Append(ctx, []EventRow{eventRow("1")}); err != nil {
				t.Fatal(err)
			}
			testnet.Eventually(t, "the other server has the event", func() bool {
				<-wake
				rows, whole, err := b.Bus().Read(ctx, 0, "", 9)
				return err == nil && whole && len(rows) == 1
			})
		})
	}
}
