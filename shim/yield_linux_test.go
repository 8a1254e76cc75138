package shim

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"warren/testnet"
)

// autogroupOf returns what the kernel tells of the session of a process (proc(5), /proc/pid/autogroup). The text is empty
// for a process of the first session, that nobody made with setsid(2): it has no group of its own.
func autogroupOf(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// niceOf returns the nice value of the session of a process.
func niceOf(t *testing.T, pid int) (nice int) {
	t.Helper()
	text := autogroupOf(t, pid)
	_, after, _ := strings.Cut(text, " nice ")
	if _, err := fmt.Sscan(after, &nice); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return nice
}

// A browser yields for a while, or until a client comes. Nothing else yields with it. An ordinary user's request may be
// without effect while other processes set such values, so it is repeated.
func TestYield(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/autogroup"); err != nil {
		t.Skipf("this kernel has no autogroups: %v", err)
	}
	client, state := launch(t, newSpec(t))
	own := autogroupOf(t, os.Getpid()) // perhaps empty
	yield := func(d time.Duration) {
		t.Helper()
		if err := client.Yield(t.Context(), d); err != nil {
			t.Error(err)
		}
	}
	yields := func() bool { yield(maxYield); return niceOf(t, state.PID) == yieldNice }
	yieldsNoMore := func() bool { return niceOf(t, state.PID) == 0 }

	testnet.Eventually(t, "the browser yields", yields)
	if now := autogroupOf(t, os.Getpid()); now != own {
		t.Errorf("this process has %q, %q before", now, own)
	}
	if err := client.call(t.Context(), http.MethodPut, "/yield?ms=1", nil, nil); err != nil { // Yield would not wait for its answer
		t.Fatal(err)
	}
	testnet.Eventually(t, "the time is over", yieldsNoMore)

	testnet.Eventually(t, "the browser yields again", yields)
	if err := client.call(t.Context(), http.MethodGet, "/cdp/json/version", nil, nil); err != nil {
		t.Fatal(err)
	}
	testnet.Eventually(t, "a client has come", yieldsNoMore)
	yield(maxYield)
	if now := niceOf(t, state.PID); now != 0 {
		t.Errorf("a run in use has a nice value of %d", now)
	}
	if err := client.Yield(t.Context(), time.Hour); err == nil {
		t.Error("an hour was taken")
	}
}
