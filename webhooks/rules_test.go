package webhooks

import (
	"strings"
	"testing"
	"time"

	"warren/pool"
	"warren/proxy"
)

// TestPauses: ten attempts, each a longer time after the one before, a tenth earlier or later. A pause that was asked for is kept.
func TestPauses(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for n, want := range map[int]time.Duration{1: 5 * time.Second, 2: 5 * time.Minute, 3: 30 * time.Minute, 4: 2 * time.Hour,
		9: 24 * time.Hour} {
		for jitter, factor := range map[float64]float64{0: 0.9, 0.5: 1, 1: 1.1} {
			at, again := retryAt(now, n, jitter, 0)
			if pause := at.Sub(now); !again || (pause-time.Duration(factor*float64(want))).Abs() > time.Millisecond {
				t.Errorf("attempt %d, jitter %v: %v, %v", n, jitter, pause, again)
			}
		}
	}
	if at, _ := retryAt(now, 1, 0, time.Hour); at.Sub(now) != time.Hour {
		t.Errorf("asked for an hour: %v", at.Sub(now))
	}
	if _, again := retryAt(now, maxAttempts, 0, 0); again {
		t.Error("there is an eleventh attempt")
	}
}

// TestRetryAfter: seconds and dates are read, and nothing else stops an endpoint for long.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{"": 0, "120": 2 * time.Minute, "-5": 0, "x": 0, "999999999": maxPause,
		"99999999999999999999": 0, "Sat, 21 Nov 2026 14:00:30 GMT": 30 * time.Second, "Sat, 21 Nov 2025 14:00:30 GMT": 0} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestPace: a busy endpoint is left alone at once, another one after some failures, and a success frees both.
func TestPace(t *testing.T) {
	t.Parallel()
	now, e := time.Now(), &endpoint{}
	fail := func(status int, pause time.Duration) time.Duration {
		e.setPace(result{attempt: Attempt{Status: &status, Error: &AttemptError{}}, pause: pause}, now)
		return e.rest.Sub(now)
	}
	if rest := fail(500, 0); rest > 0 || e.room() != roomFailing {
		t.Errorf("a failure: %v, room for %d", rest, e.room())
	}
	for _, status := range []int{429, 502, 503, 504} {
		e.setPace(result{}, now)
		if rest := fail(status, 0); rest < time.Second {
			t.Errorf("%d: %v", status, rest)
		}
	}
	if rest := fail(429, time.Hour); rest != time.Hour {
		t.Errorf("asked for an hour: %v", rest)
	}
	e.setPace(result{}, now)
	for range 40 {
		fail(500, 0)
	}
	if rest := e.rest.Sub(now); rest != longestRest {
		t.Errorf("after many failures: %v", rest)
	}
	if e.setPace(result{attempt: Attempt{DurationMs: 3000}}, now); e.rest.After(now) || e.room() != roomSlow {
		t.Errorf("a slow success: %v, room for %d", e.rest, e.room())
	}
	if e.setPace(result{}, now); e.room() != roomQuick {
		t.Errorf("room for %d", e.room())
	}
}

// TestFailingSince: a time of which nothing is known, such as a step of the clock, does not count as failing.
func TestFailingSince(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Millisecond)
	ms := func(d time.Duration) *int64 { return new(now.Add(d).UnixMilli()) }
	since := -100 * time.Hour
	for _, c := range []struct {
		since, last *int64
		want        time.Duration
	}{
		{nil, nil, 0}, {ms(since), ms(-time.Hour), since}, {ms(since), ms(-47 * time.Hour), since}, {ms(since), ms(-49 * time.Hour), 0},
		{ms(time.Hour), ms(2 * time.Hour), 0}, {ms(since), ms(10 * time.Second), since},
	} {
		if got := failingSince(now, c.since, c.last); !got.Equal(now.Add(c.want)) {
			t.Errorf("got %v, want %v", got.Sub(now), c.want)
		}
	}
}

// TestPatterns: what patterns match, and which are refused.
func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		fits    string // types that it matches
	}{{"*", "run.ended proxy.died webhook.test"}, {"run.*", "run.ended"}, {"run.ended", "run.ended"}, {"run.end", ""}} {
		for _, kind := range []string{"run.ended", "proxy.died", "webhook.test"} {
			if got := matches(c.pattern, kind); got != strings.Contains(c.fits, kind) {
				t.Errorf("%s matches %s: %v", c.pattern, kind, got)
			}
		}
		if message := CheckPattern(c.pattern, false); message != "" {
			t.Errorf("%s: %s", c.pattern, message)
		}
	}
	for _, bad := range []string{"", "run", "run.", "runs.*", ".*", "r*", "run.*.x", "run.en*", "RUN.*", "run. ended", "key.created",
		"**"} {
		if CheckPattern(bad, false) == "" || bad != "key.created" && CheckPattern(bad, true) == "" {
			t.Errorf("%q is taken", bad)
		}
	}
	if message := CheckPattern("key.created", true); message != "" {
		t.Errorf("of the whole server: %s", message)
	}
}

// TestAddresses: which addresses are taken, and what the others are told.
func TestAddresses(t *testing.T) {
	t.Parallel()
	public, open := &Sender{}, &Sender{cfg: Config{Policy: proxy.Policy{AllowPrivate: true}, Own: pool.Own{Ports: []string{"7777"}}}}
	for _, c := range []struct{ address, public, open string }{
		{"https://example.com/hook?token=x", "", ""}, {"http://8.8.8.8", "", ""}, {"https://[2001:4860::1]:8443/", "", ""},
		{"http://localhost:8080/", "--webhook-allow-private", ""}, {"http://a.localhost./", "--webhook-allow-private", ""},
		{"http://127.0.0.1/", "--webhook-allow-private", ""}, {"http://192.168.1.1", "--webhook-allow-private", ""},
		{"http://[::1]/", "--webhook-allow-private", ""}, {"http://[::ffff:10.0.0.1]/", "--webhook-allow-private", ""},
		{"http://169.254.169.254/", "--webhook-allow-private", ""},
		{"http://127.77.0.1:9000/", "reserved", "reserved"}, {"http://[::ffff:127.77.0.1]/", "reserved", "reserved"},
		{"http://127.0.0.1:7777/", "--webhook-allow-private", "server's own"},
		{"http://LOCALHOST:7777/", "--webhook-allow-private", "server's own"},
		{"", "whole", "whole"}, {"example.com/hook", "whole", "whole"}, {"https:///x", "whole", "whole"}, {"https://:1/", "whole", "whole"},
		{"https://a b/", "whole", "whole"}, {"ftp://example.com/", "begin with", "begin with"},
		{"https://u:p@example.com/", "user name", "user name"}, {"https://example.com/#x", "#", "#"},
		{"https://example.com/" + strings.Repeat("x", maxURL), "Shorten", "Shorten"},
	} {
		for s, want := range map[*Sender]string{public: c.public, open: c.open} {
			got := s.CheckURL(c.address)
			if want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("%.60s: %q, want %q", c.address, got, want)
			}
		}
	}
}
