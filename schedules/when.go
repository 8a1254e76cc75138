package schedules

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"warren/store"
)

// Computes when a schedule is due. The library reads expressions and searches them at a constant offset from UTC. The
// changes of a zone's offset are handled here.

// When says at which times a schedule is due: at those of a cron expression in a time zone, or at an interval.
type When struct {
	Every time.Duration // 0: by the expression
	cron  *cron.SpecSchedule
	zone  *time.Location
}

// maxCron is the longest expression, in bytes.
const maxCron = 200

// Cron reads an expression of five fields (crontab(5)): minute, hour, day of month, month, day of week. Days of the
// week are 0 (Sunday) to 6, or names. The error says what is wrong, for people.
func Cron(text string, zone *time.Location) (When, error) {
	if len(text) > maxCron {
		return When{}, fmt.Errorf("it has more than %d characters", maxCron)
	}
	if strings.ContainsAny(text, "=@") { // the library would take a zone, and names such as @daily
		return When{}, fmt.Errorf("it has other characters than a cron expression")
	}
	if n := len(strings.Fields(text)); n != 5 {
		return When{}, fmt.Errorf("it has %d fields, and not 5", n)
	}
	parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(text)
	if err != nil {
		return When{}, err
	}
	spec := parsed.(*cron.SpecSchedule) // of an expression without a name it is always that
	if spec.Minute == 0 || spec.Hour == 0 || spec.Dom == 0 || spec.Month == 0 || spec.Dow == 0 {
		return When{}, fmt.Errorf("a field of it has no value")
	}
	w := When{cron: spec, zone: zone}
	if spec.Next(time.Unix(0, 0).UTC()).IsZero() {
		return When{}, fmt.Errorf("no year has such a day")
	}
	return w, nil
}

// Of returns when a schedule of the database is due.
func Of(row store.Schedule) (When, error) {
	if row.EveryMs != nil {
		w := When{Every: time.Duration(*row.EveryMs) * time.Millisecond}
		if w.Every <= 0 {
			return When{}, fmt.Errorf("the interval is %v", w.Every)
		}
		return w, nil
	}
	zone, err := time.LoadLocation(row.TimeZone)
	if err != nil {
		return When{}, err
	}
	return Cron(row.Cron, zone)
}

// First returns the first occurrence of a schedule that is made at now. The zero time: there is none.
func (w When) First(now time.Time) time.Time {
	if w.Every > 0 {
		return now.Add(w.Every)
	}
	return w.next(now)
}

// After returns the first occurrence later than now. one is an occurrence. The zero time: there is none.
func (w When) After(one, now time.Time) time.Time {
	if w.Every > 0 {
		if one.After(now) {
			return one
		}
		return one.Add(now.Sub(one)/w.Every*w.Every + w.Every)
	}
	return w.next(now)
}

// Upcoming returns up to n occurrences, of which first is the first.
func (w When) Upcoming(first time.Time, n int) []time.Time {
	out := []time.Time{}
	for at := first; len(out) < n && !at.IsZero(); at = w.After(at, at) {
		out = append(out, at)
	}
	return out
}

// maxCounted is how many occurrences are counted one by one. A clock that jumps years must not keep the loop busy.
const maxCounted = 1000

// passed counts the occurrences from due to now, maxCounted at most. last is the one in time: at most grace ago, the
// last of these. The zero time: all are older.
func (w When) passed(due, now time.Time, grace time.Duration) (n int64, last time.Time) {
	for at := due; n < maxCounted && !at.IsZero() && !at.After(now); at = w.After(at, at) {
		n++
	}
	at := due
	if from := now.Add(-grace); due.Before(from) {
		at = w.After(due, from.Add(-time.Millisecond))
	}
	for ; !at.IsZero() && !at.After(now); at = w.After(at, at) {
		last = at
	}
	return n, last
}

// everyHour has a bit for each hour of a day.
const everyHour = 1<<24 - 1

// next returns the first time after now that the expression has. A zone's offset from UTC changes at summer time, so that
// a time may not exist, or exist twice:
//
//   - An expression with every hour goes by the time that passes.
//   - Any other is due once a day for each of its times. One that does not exist is due when the clocks are put forward. One
//     that exists twice is due at the first.
func (w When) next(now time.Time) time.Time {
	hourly := w.cron.Hour&everyHour == everyHour
	at := now.In(w.zone) // a time in the stretch with a constant offset that is searched
	after := now
	for range 2 * maxCounted { // a zone changes its offset twice a year, and an expression is due within years
		start, end := at.ZoneBounds()
		found := w.cron.Next(after.In(constant(at)))
		if !hourly && !found.IsZero() && repeats(found, start) {
			after = found
			continue
		}
		if end.IsZero() || !found.IsZero() && found.Before(end) {
			return inUTC(found)
		}
		if !hourly && !found.IsZero() && found.Before(end.Add(gap(end))) {
			return inUTC(end)
		}
		at, after = end, end.Add(-time.Second)
	}
	return time.Time{}
}

// constant returns a zone with the offset that a time's zone has at that time.
func constant(t time.Time) *time.Location {
	name, offset := t.Zone()
	return time.FixedZone(name, offset)
}

// gap returns by how much the clocks are put forward at a change of the offset; negative: they are put back.
func gap(change time.Time) time.Duration {
	_, before := change.Add(-time.Second).Zone()
	_, now := change.Zone()
	return time.Duration(now-before) * time.Second
}

// repeats reports whether the clocks showed a time before already, because they were put back at start.
func repeats(t, start time.Time) bool {
	if start.IsZero() {
		return false
	}
	back := -gap(start)
	return back > 0 && t.Before(start.Add(back))
}

// inUTC returns t in UTC. The zero time stays.
func inUTC(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}
