package shim

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// niceOf returns the nice value of the session of a process (proc(5), /proc/pid/autogroup).
func niceOf(t *testing.T, pid int) (nice int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), " nice ")
	if _, err := fmt.Sscan(after, &nice); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return nice
}

// awaitNice asks for it again and again, until the process has a nice value.
func awaitNice(t *testing.T, pid, want int, ask func()) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(enough); ; <-tick.C {
		if ask(); niceOf(t, pid) == want {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("the nice value is %d, want %d", niceOf(t, pid), want)
		}
	}
}

// A browser yields for a while, or until a client comes. Nothing else yields with it. An ordinary user's request may be
// without effect while other processes set such values, so it is repeated.
func TestYield(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/autogroup"); err != nil {
		t.Skipf("this kernel has no autogroups: %v", err)
	}
	client, state := launch(t, newSpec(t))
	own := niceOf(t, os.Getpid())
	yield := func(d time.Duration) func() {
		return func() {
			t.Helper()
			if err := client.Yield(t.Context(), d); err != nil {
				t.Error(err)
			}
		}
	}
	nothing := func() {}

	awaitNice(t, state.PID, yieldNice, yield(maxYield))
	if now := niceOf(t, os.Getpid()); now != own {
		t.Errorf("this process has a nice value of %d, %d before", now, own)
	}
	yield(time.Millisecond)()
	awaitNice(t, state.PID, 0, nothing) // the time is over

	awaitNice(t, state.PID, yieldNice, yield(maxYield))
	if err := client.call(t.Context(), http.MethodGet, "/cdp/json/version", nil, nil); err != nil {
		t.Fatal(err)
	}
	awaitNice(t, state.PID, 0, nothing) // a client has come
	yield(maxYield)()
	if now := niceOf(t, state.PID); now != 0 {
		t.Errorf("a run in use has a nice value of %d", now)
	}
	if err := client.Yield(t.Context(), time.Hour); err == nil {
		t.Error("an hour was taken")
	}
}
