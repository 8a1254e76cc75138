package state

import (
	"math"
	"strconv"
	"time"
)

// Tells the unit of a date by its size. No cookie is older than 1994, and none lasts beyond the year 9999, so that the ranges of the
// units do not meet: a number between them is refused.

const (
	firstSecond = 757382400    // 1994-01-01: the first cookies
	lastSecond  = 253402300799 // 9999-12-31; Playwright takes no later date
	toWindows   = 11644473600  // seconds from 1601 to 1970

	// From here on microseconds count from 1601. As microseconds since 1970 it is the year 2362, and Chrome keeps a cookie for 400 days.
	firstWindows = (toWindows + firstSecond) * 1e6
	lastWindows  = 1e17 // a FILETIME, in tenths of a microsecond, is larger
)

// parseNumber reads a date that is a number: seconds since 1970, or a larger unit's number, which the note names. ok is false where no
// unit fits.
func parseNumber(text string) (seconds float64, note string, ok bool) {
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsNaN(n) || n < 0:
		return 0, "", false
	case n <= lastSecond:
		return n, "", true
	case n >= firstSecond*1e3 && n <= lastSecond*1e3:
		return n / 1e3, "date_milliseconds", true
	case n >= firstSecond*1e6 && n < firstWindows:
		return n / 1e6, "date_microseconds", true
	case n >= firstWindows && n < lastWindows:
		if whole, err := strconv.ParseInt(text, 10, 64); err == nil { // a float has no single microseconds here
			return float64(whole-toWindows*1e6) / 1e6, "date_windows", true
		}
		return n/1e6 - toWindows, "date_windows", true
	}
	return 0, "", false
}

// parseText reads a date that is text: RFC 3339, or a number.
func parseText(text string) (seconds float64, note string, ok bool) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return float64(t.UnixMicro()) / 1e6, "date_text", true
	}
	if seconds, note, ok = parseNumber(text); ok && note == "" {
		note = "date_text"
	}
	return seconds, note, ok
}
