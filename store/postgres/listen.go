package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
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
		s, ok := raw.(*session)
		if !ok {
			return errors.New("listen: the pool is of another driver")
		}
		defer s.Close() // the pool must not use it again, since it listens
		if err := s.command(ctx, `LISTEN "`+strings.ReplaceAll(channel, `"`, `""`)+`"`); err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		if err := s.waitLong(); err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		for {
			heard()
			if err := s.pg.WaitForNotification(ctx); err != nil {
				return fmt.Errorf("listen: %w", err)
			}
		}
	})
}
