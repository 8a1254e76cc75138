package testnet

import (
	"runtime"
	"testing"
	"time"
)

// Patience is how long a test waits for what an idle machine does at once.
const Patience = 5 * time.Minute

// AwaitClosed waits until a channel is closed. After limit it fails the test with the stacks of all goroutines.
func AwaitClosed(t testing.TB, what string, c <-chan struct{}, limit time.Duration) {
	t.Helper()
	select {
	case <-c:
		return
	default:
	}
	select {
	case <-c:
	case <-time.After(limit):
		buf := make([]byte, 1<<20)
		t.Fatalf("%s: not within %v\n%s", what, limit, buf[:runtime.Stack(buf, true)])
	}
}

// Eventually polls until a condition holds, for conditions without an event. It fails the test after Patience.
func Eventually(t testing.TB, what string, yes func() bool) {
	t.Helper()
	pause := time.NewTicker(10 * time.Millisecond)
	defer pause.Stop()
	for late := time.After(Patience); !yes(); {
		select {
		case <-pause.C:
		case <-late:
			t.Fatalf("not within %v: %s", Patience, what)
		}
	}
}
