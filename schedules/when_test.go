package schedules

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// upcoming returns the next occurrences after a time, as a zone's clocks show them.
func upcoming(t *testing.T, expression, zone, after string, n int) (shown []string) {
	t.Helper()
	place, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	w, err := Cron(expression, place)
	if err != nil {
		t.Fatal(err)
	}
	from, err := time.Parse(time.RFC3339, after)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range w.Upcoming(w.First(from), n) {
		shown = append(shown, at.In(place).Format("02 15:04 -0700"))
	}
	return shown
}

// TestSummerTime: a time that a day does not have is due when the clocks are put forward, and one that it has twice is due
// once. What is due every hour goes by the time that passes.
func TestSummerTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expression, zone, after string
		want                    []string
	}{
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", []string{"28 02:30 +0100", "29 03:00 +0200", "30 02:30 +0200"}},
		{"0,15,45 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", []string{"29 03:00 +0200", "30 02:00 +0200", "30 02:15 +0200"}},
		{"0 3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", []string{"29 03:00 +0200", "30 03:00 +0200"}},
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", []string{"25 02:30 +0200", "26 02:30 +0100"}},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T00:45:00Z", []string{"26 02:30 +0100", "27 02:30 +0100"}},
		{"0 */2 * * *", "Europe/Berlin", "2026-10-24T22:30:00Z", []string{"25 02:00 +0200", "25 04:00 +0100"}},
		{"0 * * * *", "Europe/Berlin", "2026-10-24T22:30:00Z", []string{"25 01:00 +0200", "25 02:00 +0200", "25 02:00 +0100",
			"25 03:00 +0100"}},
		{"0 * * * *", "Europe/Berlin", "2026-03-28T23:30:00Z", []string{"29 01:00 +0100", "29 03:00 +0200"}},
		{"0 0 * * *", "America/Santiago", "2026-09-05T12:00:00Z", []string{"06 01:00 -0300", "07 00:00 -0300"}}, // no midnight
		{"45 1 * * *", "Australia/Lord_Howe", "2026-04-03T14:00:00Z", []string{"04 01:45 +1100", "05 01:45 +1100", "06 01:45 +1030"}},
		{"15 2 * * *", "Australia/Lord_Howe", "2026-10-02T20:00:00Z", []string{"04 02:30 +1100", "05 02:15 +1100"}}, // half an hour
		{"0 9 * * 1-5", "Asia/Tokyo", "2026-11-27T12:00:00Z", []string{"30 09:00 +0900", "01 09:00 +0900"}},
		{"0 0 29 2 *", "UTC", "2026-11-27T12:00:00Z", []string{"29 00:00 +0000"}},
		{"0 12 13 * FRI", "UTC", "2026-11-12T12:30:00Z", []string{"13 12:00 +0000", "20 12:00 +0000"}}, // either day, as crontab(5) says
	} {
		if got := upcoming(t, c.expression, c.zone, c.after, len(c.want)); !slices.Equal(got, c.want) {
			t.Errorf("%s in %s after %s: got %q, want %q", c.expression, c.zone, c.after, got, c.want)
		}
	}
}

// TestOncePerDay: whatever the zone, a time of the day is due once on every day, in order.
func TestOncePerDay(t *testing.T) {
	t.Parallel()
	zones := []string{"Europe/Berlin", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca",
		"Asia/Beirut", "Pacific/Chatham"}
	rapid.Check(t, func(r *rapid.T) {
		place, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(r, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		minute, hour := rapid.IntRange(0, 59).Draw(r, "minute"), rapid.IntRange(0, 23).Draw(r, "hour")
		w, err := Cron(time.Date(0, 1, 1, hour, minute, 0, 0, time.UTC).Format("4 15")+" * * *", place)
		if err != nil {
			r.Fatal(err)
		}
		day := time.Date(rapid.IntRange(2015, 2037).Draw(r, "year"), 1, 1, 12, 0, 0, 0, place) // noon is on every day
		last := w.First(day.Add(-12*time.Hour - time.Second))
		for i := range 366 {
			if got, want := last.In(place).Format("2006-01-02"), day.AddDate(0, 0, i).Format("2006-01-02"); got != want {
				r.Fatalf("%02d:%02d is due on %s, want %s", hour, minute, last.In(place), want)
			}
			next := w.After(last, last)
			if !next.After(last) {
				r.Fatalf("%v is followed by %v", last, next)
			}
			last = next
		}
	})
}

// TestCronRefused: every other text is refused, and none makes the reader panic or search for long.
func TestCronRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "*", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 7",
		"*/0 * * * *", "5-1 * * * *", "1--2 * * * *", "a * * * *", "-1 * * * *", "0 0 30 2 *", "@daily", "@every 1s", "TZ=UTC * * * * *",
		"CRON_TZ=x", "TZ=", ", * * * *", "* , * * *", "* * * * ,"} {
		if w, err := Cron(text, time.UTC); err == nil {
			t.Errorf("%q is taken: due %v", text, w.First(time.Now()))
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringMatching(`([0-9*?,/a-zA-Z=@-]{1,5} ){4}[0-9*,/-]{1,5}`).Draw(r, "text")
		if w, err := Cron(text, time.UTC); err == nil && w.First(time.Unix(1e9, 0)).IsZero() {
			r.Errorf("%q is taken, and never due", text)
		}
	})
}

// TestPassed: occurrences are counted up to a bound, and the last of the last minute is the one in time.
func TestPassed(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		when, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	hourly, err := Cron("0 * * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	every := When{Every: time.Second}
	for _, c := range []struct {
		w        When
		due, now string
		n        int64
		last     string
	}{
		{hourly, "2026-01-01T01:00:00Z", "2026-01-01T01:00:00Z", 1, "2026-01-01T01:00:00Z"},
		{hourly, "2026-01-01T01:00:00Z", "2026-01-01T03:30:00Z", 3, ""},
		{hourly, "2026-01-01T01:00:00Z", "2026-01-01T04:00:30Z", 4, "2026-01-01T04:00:00Z"},
		{hourly, "2026-01-01T01:00:00Z", "2096-01-01T03:30:00Z", maxCounted, ""},
		{every, "2026-01-01T01:00:00Z", "2026-01-01T01:00:05.5Z", 6, "2026-01-01T01:00:05Z"},
		{every, "2026-01-01T01:00:00Z", "2096-01-01T01:00:00.9Z", maxCounted, "2096-01-01T01:00:00Z"},
		{When{Every: time.Hour}, "2026-01-01T01:10:00Z", "2026-01-01T03:15:00Z", 3, ""},
	} {
		n, last := c.w.passed(at(c.due), at(c.now), grace)
		want := time.Time{}
		if c.last != "" {
			want = at(c.last)
		}
		if n != c.n || !last.Equal(want) {
			t.Errorf("from %s to %s: got %d and %v, want %d and %v", c.due, c.now, n, last, c.n, want)
		}
	}
	if next := every.After(at("2026-01-01T01:00:00Z"), at("2096-01-01T01:00:00.9Z")); !next.Equal(at("2096-01-01T01:00:01Z")) {
		t.Errorf("the interval goes on at %v", next)
	}
}
