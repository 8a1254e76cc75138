package runs

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"warren/shim"
	"warren/shim/shimtest"
	"warren/store"
)

// settlingProcess is a fake process of a run that became ready at a time.
func (r *rig) settlingProcess(at time.Time) *shimtest.Run {
	r.t.Helper()
	name := newRun(store.NewID(), "", "", running).name
	process := shimtest.Serve(r.t, r.Manager.dir, name, shim.State{})
	client := shim.Hold(r.Manager.dir, name, "")
	r.t.Cleanup(client.Release)
	r.settling.add(client, at)
	return process
}

// yields counts the requests to yield that a fake process has got.
func yields(process *shimtest.Run) (n int) {
	for _, q := range process.Requests() {
		if q.Method == http.MethodPut && q.URL.Path == "/yield" {
			n++
		}
	}
	return n
}

// Runs that became ready a moment ago are told to yield when a browser is launched, or while one is. Others are not.
func TestSettlingRunsYield(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	old := r.settlingProcess(time.Now().Add(-settleTime))
	fresh := r.settlingProcess(time.Now().Add(time.Hour)) // longer than this test takes
	claim := func() (release func()) {
		t.Helper()
		release, err := r.claimStarting(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	endFirst := claim()
	await(t, "a request when a start begins", func() bool { return yields(fresh) == 1 })
	endSecond := claim()
	await(t, "a request when another begins", func() bool { return yields(fresh) == 2 })
	second := r.settlingProcess(time.Now().Add(time.Hour))
	endSecond() // the first goes on
	await(t, "a request when one is ready and another is not", func() bool { return yields(second) == 1 && yields(fresh) == 3 })
	if n := len(r.mustYield()); n != 2 {
		t.Errorf("beside a start %d runs must yield, want 2", n)
	}
	endFirst()
	if n := len(r.mustYield()); n != 0 {
		t.Errorf("%d runs must yield when nothing starts", n)
	}
	if got := []int{yields(old), yields(fresh), yields(second)}; !slices.Equal(got, []int{0, 3, 1}) {
		t.Errorf("requests to the old run, the fresh one and the second: %v", got)
	}
}
