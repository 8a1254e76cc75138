package problem

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestErrors: an error keeps its kind and its cause under wrapping, and its cause is in the log's text alone.
func TestErrors(t *testing.T) {
	t.Parallel()
	cause := errors.New("no such table")
	e := Hidden(cause)
	wrapped := fmt.Errorf("reading: %w", e)
	if !Is(wrapped, Internal) || Is(wrapped, NotFound) || !errors.Is(wrapped, cause) {
		t.Errorf("%v has another kind, code or cause", wrapped)
	}
	if strings.Contains(e.Message, "table") || !strings.Contains(e.Error(), "table") {
		t.Errorf("the message is %q, the log's text %q", e.Message, e.Error())
	}
	if Is(cause, Internal) || Is(nil, Internal) {
		t.Error("an error of another package has a kind")
	}
}

// TestBuilders: what each way to make an error sets.
func TestBuilders(t *testing.T) {
	t.Parallel()
	if e := Missing("proxy"); e.Kind != NotFound || e.Code != "proxy_not_found" || !strings.Contains(e.Message, "proxy") {
		t.Errorf("%+v", e)
	}
	faults := []Fault{{Location: "body.name", Message: "is required"}, {Location: "body.os", Message: "is none"}}
	if e := NotValid(faults...); e.Kind != Invalid || len(e.Faults) != 2 || faults[0].Error() != "body.name: is required" {
		t.Errorf("%+v", e)
	}
	e := New(TooMany, "queue_full", "Wait.").After(5 * time.Second).With(7)
	if e.RetryAfter != 5*time.Second || e.Details != 7 || e.Unwrap() != nil || e.Error() != "queue_full: Wait." {
		t.Errorf("%+v", e)
	}
}

// TestOfCaller: for each kind, whether another request could do better.
func TestOfCaller(t *testing.T) {
	t.Parallel()
	servers := map[Kind]bool{Internal: true, Unavailable: true, Timeout: true, Upstream: true, Storage: true}
	for k := Internal; k <= Misdirected; k++ {
		if k.OfCaller() == servers[k] {
			t.Errorf("kind %d: OfCaller is %v", k, k.OfCaller())
		}
	}
}
