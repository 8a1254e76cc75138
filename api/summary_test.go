package api

import "testing"

// TestSummary: the counts, and how long the trash keeps what is in it, which the page says before it deletes.
func TestSummary(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	gone := a.profile(t)
	a.profile(t)
	a.do(t, "DELETE", "/profiles/"+gone, nil).want(t, 204)
	r := a.do(t, "GET", "/summary", nil).want(t, 200)
	for path, want := range map[string]any{"profiles.total": 1, "profiles.trashed": 1, "trashDays": 30,
		"auditDays": 0, "runLimits.memoryMb": nil} {
		r.equal(t, path, want)
	}
}
