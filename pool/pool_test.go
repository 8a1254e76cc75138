package pool

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLatency: percentiles are by nearest rank, over the last hundred checks.
func TestLatency(t *testing.T) {
	t.Parallel()
	if LatencyOf("") != nil || LatencyOf("- - -") != nil {
		t.Error("no good check has a latency")
	}
	recent := ""
	for i := range int64(150) {
		if i%3 == 0 {
			recent = withLatency(recent, nil)
		} else {
			recent = withLatency(recent, &i)
		}
	}
	words := strings.Fields(recent)
	if len(words) != maxKeptChecks || words[0] != "50" || words[99] != "149" {
		t.Errorf("kept %d: %s", len(words), recent)
	}
	if got := *LatencyOf("30 10 - 20 40"); got != (Latency{P50Ms: 20, P95Ms: 40, Count: 4}) {
		t.Errorf("%+v", got)
	}
	if got := *LatencyOf("7"); got != (Latency{P50Ms: 7, P95Ms: 7, Count: 1}) {
		t.Errorf("%+v", got)
	}
}

// TestChecksAtOnce: the number of concurrent checks is limited by the file descriptors.
func TestChecksAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ wanted, files, want int }{{0, 0, 2048}, {0, 1 << 20, 2048}, {0, 4096, 409}, {100, 4096, 100},
		{5000, 1024, 102}, {7, 5, 1}} {
		if got := checksAtOnce(c.wanted, c.files); got != c.want {
			t.Errorf("%d wanted, %d files: %d at once, want %d", c.wanted, c.files, got, c.want)
		}
	}
}

// TestDue: the jitter is at most a tenth, stable, and differs between proxies and rounds.
func TestDue(t *testing.T) {
	t.Parallel()
	last, every := time.UnixMilli(1e12), time.Hour
	seen := map[time.Time]bool{}
	for i := range 1000 {
		id := fmt.Sprint(i)
		at := due(id, last, every)
		seen[at] = true
		if d := at.Sub(last); d < 54*time.Minute || d > 66*time.Minute || !due(id, last, every).Equal(at) {
			t.Fatalf("due after %v", d)
		}
	}
	if len(seen) < 990 || due("x", last, every).Sub(last) == due("x", last.Add(time.Second), every).Sub(last.Add(time.Second)) {
		t.Errorf("%d different times of 1000", len(seen))
	}
	if !due("x", time.UnixMilli(0), every).Before(last) {
		t.Error("one that was never checked is not due")
	}
	var faults []string
	add := func(format string, a ...any) { faults = append(faults, fmt.Sprintf(format, a...)) }
	e := ParseEvery([]string{"30m", "a=5m", "b=0"}, add)
	if e.in("a") != 5*time.Minute || e.in("b") != 0 || e.in("c") != 30*time.Minute || e.shortest() != 5*time.Minute || faults != nil {
		t.Errorf("%+v, %q", e, faults)
	}
	ParseEvery([]string{"5", "1ms", "a b=5m", "a=x", "-1h"}, add)
	if len(faults) != 5 {
		t.Errorf("%q", faults)
	}
}

// TestMoves: each moved proxy is returned once, and waiting ends with the context.
func TestMoves(t *testing.T) {
	t.Parallel()
	p := New(t.Context(), Config{}, nil, nil, nil, nil)
	a, b := Move{"w", "a"}, Move{"w", "b"}
	for _, m := range []Move{a, b, a} {
		p.moves.add(m)
	}
	if got := p.AwaitMoves(t.Context()); !slices.Equal(got, []Move{a, b}) {
		t.Errorf("%v", got)
	}
	p.moves.add(b)
	if got := p.AwaitMoves(t.Context()); !slices.Equal(got, []Move{b}) {
		t.Errorf("%v", got)
	}
	over, end := context.WithCancel(t.Context())
	end()
	if got := p.AwaitMoves(over); got != nil {
		t.Errorf("%v", got)
	}
}

// TestOwn: every spelling of this server's own address is recognised.
func TestOwn(t *testing.T) {
	t.Parallel()
	own := Own{Ports: []string{"7777", "9100", "443"}, Names: []string{"warren.example.com"}}
	for _, c := range []struct {
		host, port string
		is, leads  bool
	}{{"127.0.0.1", "7777", true, true}, {"localhost", "7777", true, true},
		{"::1", "7777", true, true}, {"app.localhost", "7777", true, false},
		{"127.0.0.1", "7778", false, false}, {"203.0.113.7", "7777", false, false},
		{"::ffff:127.0.0.1", "9100", true, true}, {"0.0.0.0", "9100", true, true}, {"Warren.Example.com.", "443", true, true},
		{"warren.example.com", "80", false, false}, {"other.example.com", "443", true, false}} {
		if is, leads := own.Is(c.host, c.port), own.Leads(c.host, c.port); is != c.is || leads != c.leads {
			t.Errorf("%s port %s: is %v, leads %v", c.host, c.port, is, leads)
		}
	}
}
