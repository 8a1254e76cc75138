package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
)

// The mark on the target of a transfer that is not complete.

// ErrUnfinished is a database that Transfer has not completed, and that no server opens.
var ErrUnfinished = errors.New("the database is an unfinished copy")

// copyingSetting is the setting that is the mark.
const copyingSetting = "copying"

// transferMark is the mark's value.
type transferMark struct {
	Source string              `json:"source"` // a hash of the source's canary
	Begun  time.Time           `json:"begun"`
	Tables map[string]tableSum `json:"tables"` // what the source had then
}

// checkFinished returns ErrUnfinished for a database that a transfer has not completed. No server may open it. It does not change it.
func checkFinished(ctx context.Context, on DBTX) error {
	mark, err := markOf(ctx, on)
	if err != nil || mark == nil {
		return err
	}
	return fmt.Errorf("%w (begun at %s): repeat the same warren store copy, which goes on with it, or empty the database", ErrUnfinished,
		mark.Begun.UTC().Format(time.RFC3339))
}

// markOf returns the mark of a database; nil: it has none.
func markOf(ctx context.Context, on DBTX) (*transferMark, error) {
	text, err := settingOf(ctx, on, copyingSetting)
	if errors.Is(err, ErrNoRow) {
		return nil, nil //nolint:nilnil // as said
	}
	if err != nil {
		return nil, err
	}
	mark := new(transferMark)
	if err := json.Unmarshal([]byte(text), mark); err != nil {
		return nil, fmt.Errorf("%w: its mark cannot be read: %w", ErrUnfinished, err)
	}
	return mark, nil
}

// settingOf returns a setting of either database. name is a constant. It fails with ErrNoRow if there is none.
func settingOf(ctx context.Context, on DBTX, name string) (value string, err error) {
	err = on.QueryRowContext(ctx, "SELECT value FROM settings WHERE name = '"+name+"'").Scan(&value)
	return value, err
}

// tableSum says what a table has.
type tableSum struct {
	Rows   int64  `json:"rows"`
	SHA256 string `json:"sha256"`
}
