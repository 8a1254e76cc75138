package main

import (
	"slices"
	"strconv"
	"strings"
)

// This file is about the latencies of a proxy's last checks, as the database keeps them: in ms, oldest first, with spaces between,
// and "-" for a check that failed.

// keptChecks is how many checks of a proxy are kept.
const keptChecks = 100

// withLatency adds the latency of another check, nil when it failed, and drops the oldest beyond keptChecks.
func withLatency(recent string, ms *int64) string {
	next := "-"
	if ms != nil {
		next = strconv.FormatInt(*ms, 10)
	}
	if recent == "" {
		return next
	}
	if strings.Count(recent, " ") >= keptChecks-1 {
		_, recent, _ = strings.Cut(recent, " ")
	}
	return recent + " " + next
}

// latencyJSON sums up the latencies of a proxy's last checks that were good.
type latencyJSON struct {
	P50Ms int64 `json:"p50Ms" doc:"Half of them took at most so long." example:"182"`
	P95Ms int64 `json:"p95Ms" doc:"95 of 100 took at most so long." example:"411"`
	Count int   `json:"count" doc:"How many there are: at most the last 100 checks that are kept." example:"97"`
}

// latencyOf gives the percentiles by nearest rank; nil when no check was good.
func latencyOf(recent string) *latencyJSON {
	var all []int64
	for word := range strings.FieldsSeq(recent) {
		if ms, err := strconv.ParseInt(word, 10, 64); err == nil {
			all = append(all, ms)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	rank := func(percent int) int64 { return all[(len(all)*percent+99)/100-1] }
	return &latencyJSON{rank(50), rank(95), len(all)}
}
