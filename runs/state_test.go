package runs

import (
	"testing"

	"pgregory.net/rapid"
)

// TestTransitions: every pair of states is allowed or refused as in the table.
func TestTransitions(t *testing.T) {
	t.Parallel()
	may := map[[2]stage]bool{{starting, running}: true, {starting, ended}: true, {running, stopping}: true, {running, ended}: true,
		{stopping, ended}: true}
	for from := starting; from <= ended; from++ {
		for next := starting; next <= ended; next++ {
			r := newRun("", "p", "w", from)
			if got := r.to(next); got != may[[2]stage{from, next}] {
				t.Errorf("%v to %v: %v", from, next, got)
			}
			want := from
			if may[[2]stage{from, next}] {
				want = next
			}
			if r.now() != want {
				t.Errorf("%v to %v leaves %v", from, next, r.now())
			}
		}
	}
}

// TestStatesGoForward: a run's state only moves forward, in any order of requests.
func TestStatesGoForward(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := newRun("", "p", "w", stage(rapid.IntRange(int(starting), int(stopping)).Draw(t, "from")))
		model := r.now()
		for _, next := range rapid.SliceOf(rapid.IntRange(int(starting), int(ended))).Draw(t, "asked") {
			before, moved := r.now(), r.to(stage(next))
			allowed := stage(next) > before && !(before == starting && stage(next) == stopping)
			if moved != allowed {
				t.Fatalf("%v to %v: %v", before, stage(next), moved)
			}
			if moved {
				model = stage(next)
			}
			if r.now() != model {
				t.Fatalf("the state is %v, want %v", r.now(), model)
			}
		}
	})
}
