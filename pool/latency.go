package pool

import (
	"slices"
	"strconv"
	"strings"
)

// The database stores the latencies of a proxy's last checks as one text: milliseconds, oldest first, separated by
// spaces. A failed check is "-".

// maxKeptChecks is how many checks of a proxy are kept.
const maxKeptChecks = 100

// withLatency appends the latency of a check, in milliseconds; nil if it failed. It drops the oldest beyond
// maxKeptChecks.
func withLatency(recent string, ms *int64) string {
	next := "-"
	if ms != nil {
		next = strconv.FormatInt(*ms, 10)
	}
	if recent == "" {
		return next
	}
	if strings.Count(recent, " ") >= maxKeptChecks-1 {
		_, recent, _ = strings.Cut(recent, " ")
	}
	return recent + " " + next
}

// Latency summarises the latencies of a proxy's last good checks.
type Latency struct {
	P50Ms int64 `json:"p50Ms" doc:"Half of them took at most so long." example:"182"`
	P95Ms int64 `json:"p95Ms" doc:"95 of 100 took at most so long." example:"411"`
	Count int   `json:"count" doc:"How many there are: at most the last 100 checks that are kept." example:"97"`
}

// LatencyOf returns the percentiles by nearest rank; nil if no check was good.
func LatencyOf(recent string) *Latency {
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
	return &Latency{rank(50), rank(95), len(all)}
}
