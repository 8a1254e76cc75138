package runs

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"warren/pool"
	"warren/store"
	"warren/testnet"

	"github.com/go-json-experiment/json"
)

// TestStartWaitsForTheExit: a start waits for the exit only if its identity follows it, and then uses the last known
// exit.
func TestStartWaitsForTheExit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		row  store.Profile
		want time.Duration
	}{
		{store.Profile{Timezone: "auto", Locale: "system", Geolocation: "off", Consistency: "warn"}, identityExitWait},
		{store.Profile{Timezone: "system", Locale: "system", Geolocation: "auto", Consistency: "warn"}, identityExitWait},
		{store.Profile{Timezone: "system", Locale: "system", Geolocation: "off", Consistency: "block"}, identityExitWait},
		{store.Profile{Timezone: "UTC", Locale: `["de"]`, Geolocation: "off", Consistency: "warn"}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			m := &Manager{pool: new(pool.Pool)}
			p := &plan{row: c.row, proxy: &pool.Proxy{Proxy: store.Proxy{LastCheck: new(checkedNow(t))}},
				exit: &exitLookup{m: m, done: make(chan struct{})}}
			err := m.resolveExit(t.Context(), p)
			if took := time.Since(began); err != nil || took != c.want || p.env.Exit == nil || len(p.warnings) != int(min(c.want, 1)) {
				t.Errorf("%+v: %v, waited %v, exit %v, warnings %v", c.row, err, took, p.env.Exit, p.warnings)
			}
			a := &Started{Info: Info{Proxy: &Egress{}, Warnings: p.warnings}}
			p.exit.fillAnswer(t.Context(), a)
			if len(a.Warnings) != 1 || a.Warnings[0].Code != "exit_unknown" {
				t.Errorf("the answer has the warnings %v", a.Warnings)
			}
			if took := time.Since(began); took != max(c.want, exitWait) { // the waits do not add up
				t.Errorf("%+v: waited %v in all", c.row, took)
			}
		})
	}
}

// checkedNow returns a fresh good check, as a proxy's row has it.
func checkedNow(t testing.TB) string {
	t.Helper()
	text, err := json.Marshal(berlin())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestWarningsOfAnUnknownExit: each reason for a missing exit has its own warning.
func TestWarningsOfAnUnknownExit(t *testing.T) {
	t.Parallel()
	var log testnet.Buffer
	fill := func(ctx context.Context, e *exitLookup) string {
		e.m = &Manager{log: slog.New(slog.NewTextHandler(&log, nil))}
		a := &Started{Info: Info{Proxy: &Egress{ID: "the-proxy"}}}
		e.fillAnswer(ctx, a)
		if len(a.Warnings) == 0 {
			return ""
		}
		return a.Warnings[0].Code + ": " + a.Warnings[0].Message
	}
	over := make(chan struct{})
	close(over)
	synctest.Test(t, func(t *testing.T) { // with a fake clock, since fillAnswer waits
		if got := fill(t.Context(), &exitLookup{done: make(chan struct{})}); !strings.HasPrefix(got, "exit_unknown: ") ||
			!strings.Contains(got, "not known in time; the check goes on") {
			t.Errorf("while the check goes on: %q", got)
		}
	})
	got := fill(t.Context(), &exitLookup{done: over, err: errors.New("no such table")})
	if !strings.HasPrefix(got, "exit_unknown: ") || strings.Contains(got, "goes on") || strings.Contains(got, "in time") ||
		strings.Contains(got, "table") ||
		!strings.Contains(got, "its check failed inside warren") || !strings.Contains(log.String(), "no such table") {
		t.Errorf("after a check that could not be made: %q, and the log says %s", got, &log)
	}
	if got := fill(t.Context(), &exitLookup{done: over}); got != "" {
		t.Errorf("with nobody having looked: %q", got)
	}
	got = fill(t.Context(), &exitLookup{done: over, result: &pool.Check{Error: &pool.CheckError{Message: "It is dead."}}})
	if !strings.HasPrefix(got, "proxy_unreachable: ") || !strings.Contains(got, "It is dead.") {
		t.Errorf("with a dead proxy: %q", got)
	}
}
