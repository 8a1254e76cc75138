package shim

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestLateChanges: a change whose deadline has passed is not applied. One with time left, or without a deadline, is.
func TestLateChanges(t *testing.T) {
	t.Parallel()
	done := 0
	change := refuseExpired(func(http.ResponseWriter, *http.Request) { done++ })
	for _, x := range []struct {
		left time.Duration // 0: no deadline
		want int
	}{{time.Minute, 1}, {0, 1}, {-time.Millisecond, 0}, {-time.Hour, 0}} {
		ctx := context.Background()
		if x.left != 0 {
			with, cancel := context.WithDeadline(ctx, time.Now().Add(x.left))
			defer cancel()
			ctx = with
		}
		r := httptest.NewRequest(http.MethodPut, "/upstreams", nil)
		setDeadline(ctx, r)
		before, w := done, httptest.NewRecorder()
		if change(w, r); done-before != x.want || (w.Code == http.StatusOK) != (x.want == 1) {
			t.Errorf("with %v left: carried out %d times, status %d", x.left, done-before, w.Code)
		}
	}
}

// TestEveryChangeHasItsTime: every change of a run is refused after its deadline.
func TestEveryChangeHasItsTime(t *testing.T) {
	t.Parallel()
	p := &process{browser: opened(t)}
	h := p.handler()
	for _, path := range []string{"/upstreams", "/rules", "/identity", "/capabilities", "/yield"} {
		r := httptest.NewRequest(http.MethodPut, path, nil)
		r.Header.Set(deadlineHeader, "1")
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusRequestTimeout {
			t.Errorf("%s, which comes late: %d", path, w.Code)
		}
	}
}
