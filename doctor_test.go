package main

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
	"warren/leaks"
	"warren/runs"
)

// TestUntilShown: where time ran out the test is made again with twice as much, up to a bound; what was shown, and
// what broke, is not made again.
func TestUntilShown(t *testing.T) {
	late, shown, bad := leaks.Channel{Name: "worker", Undecided: true}, leaks.Channel{Name: "worker", Passed: true},
		leaks.Channel{Name: "worker"}
	for name, c := range map[string]struct {
		answers []leaks.Channel // of the tries in order; the last one repeats
		err     error
		limits  string
	}{
		"at once":      {[]leaks.Channel{shown}, nil, "[1m0s]"},
		"a leak":       {[]leaks.Channel{bad}, nil, "[1m0s]"},
		"the second":   {[]leaks.Channel{late, bad}, nil, "[1m0s 2m0s]"},
		"never":        {[]leaks.Channel{late}, nil, "[1m0s 2m0s 4m0s 8m0s]"},
		"it cannot be": {[]leaks.Channel{late}, errors.New("no browser"), "[1m0s]"},
	} {
		var limits []time.Duration
		got, err := untilShown(runs.LeakTestTime, func(limit time.Duration) ([]leaks.Channel, error) {
			limits = append(limits, limit)
			return []leaks.Channel{shown, c.answers[min(len(limits), len(c.answers))-1]}, c.err
		})
		if !errors.Is(err, c.err) || fmt.Sprint(limits) != c.limits ||
			!slices.Equal(got, []leaks.Channel{shown, c.answers[len(c.answers)-1]}) {
			t.Errorf("%s: tried %v, got %+v, %v", name, limits, got, err)
		}
	}
}
