package runs

import (
	"context"
	"time"

	"warren/problem"
	"warren/store"
)

// ClearOptions says what of a profile's data is cleared.
type ClearOptions struct {
	Kinds, Origins []string
	Since          time.Time // zero: since ever
}

// Cleared says what was cleared.
type Cleared struct{ Bytes int64 }

// Clear clears data of a profile.
func (m *Manager) Clear(context.Context, store.Profile, ClearOptions) (Cleared, error) {
	return Cleared{}, problem.New(problem.Unavailable, "not_yet", "Not yet.")
}
