package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Listen takes a connection of the pool for itself and calls heard once it listens on a channel, and after each notification. It ends with
// the connection or with ctx, and its error is never nil. heard must not wait.
func Listen(ctx context.Context, db *sql.DB, channel string, heard func()) error {
	c, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer c.Close()
	return c.Raw(func(raw any) error {
		std, ok := raw.(*stdlib.Conn)
		if !ok {
			return errors.New("listen: the pool is of another driver")
		}
		conn := std.Conn()
		defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the pool must not use it again, since it listens
		if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		for {
			heard()
			if _, err := conn.WaitForNotification(ctx); err != nil {
				return fmt.Errorf("listen: %w", err)
			}
		}
	})
}
