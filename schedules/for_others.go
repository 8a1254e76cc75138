package schedules

import (
	"context"
	"errors"

	"warren/problem"
	"warren/store"
)

// Does the actions of schedules whose occurrence another server runs.

// ActFor does a schedule's action to a profile whose data this server has, or that none has yet. unchanged: nothing was to be done. runID
// is that of a run that was started. failed says what went wrong as an outcome does; nil: nothing.
func (s *Scheduler) ActFor(ctx context.Context, schedule, profile string) (unchanged bool, runID string, failed *TargetError) {
	row, err := s.store.Read().GetSchedule(ctx, store.GetScheduleParams{ID: schedule})
	if errors.Is(err, store.ErrNoRow) {
		err = problem.Missing("schedule")
	}
	o := &occurrence{row: row, here: true}
	if err == nil {
		unchanged, err = s.actOn(ctx, o, profile)
	}
	if err != nil {
		s.note(ctx, o, profile, false, err)
		return false, "", new(failure(profile, err))
	}
	return unchanged, o.runID, nil
}
