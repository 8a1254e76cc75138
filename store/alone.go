package store

import (
	"context"
	"errors"
	"time"
)

// Has one of several servers do something.

// dutyTime is how long a duty is taken for. It is renewed in each third of it. A server that dies keeps others from it for so long.
const dutyTime = 15 * time.Second

// errDutyLost is the cause of the end of a duty that could not be renewed in time.
var errDutyLost = errors.New("the database did not answer in time, so that another server may do the same")

// Alone calls fn, unless another call of the same name goes on, at this server or at another one of the database. It reports whether fn was
// called. Its context ends when the database was away for too long to keep others off. Where the database belongs to one server, fn is
// always called.
func (s *Store) Alone(ctx context.Context, name string, fn func(context.Context) error) (called bool, err error) {
	if !s.Shared() {
		return true, fn(ctx)
	}
	holder, began := NewID(), time.Now()
	if mine, err := s.takeDuty(ctx, name, holder); !mine || err != nil {
		return false, err
	}
	going, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	late := time.AfterFunc(dutyTime-time.Since(began), func() { lose(errDutyLost) })
	defer late.Stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.keepDuty(going, name, holder, late, lose)
	}()
	err = fn(going)
	lose(nil)
	<-ended
	leave := context.WithoutCancel(ctx)
	if e := s.Write(leave, func(q *Queries) error {
		return ErrorOf(q.LeaveDuty(leave, LeaveDutyParams{Name: name, Holder: holder}))
	}); err == nil && !errors.Is(e, ErrClosed) {
		err = e
	}
	return true, err
}

// keepDuty renews a duty until ctx ends. late is the timer that loses it.
func (s *Store) keepDuty(ctx context.Context, name, holder string, late *time.Timer, lose context.CancelCauseFunc) {
	tick := time.NewTicker(dutyTime / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		began := time.Now()
		mine, err := s.takeDuty(ctx, name, holder)
		switch {
		case err == nil && mine:
			late.Reset(dutyTime - time.Since(began))
		case err == nil:
			lose(errDutyLost)
		}
	}
}

// takeDuty takes a duty, or keeps it. It reports false if somebody else has it.
func (s *Store) takeDuty(ctx context.Context, name, holder string) (mine bool, err error) {
	err = s.Write(ctx, func(q *Queries) error {
		n, err := q.TakeDuty(ctx, TakeDutyParams{Name: name, Holder: holder, Span: dutyTime.Milliseconds()})
		mine = n > 0
		return err
	})
	return mine && err == nil, err
}
