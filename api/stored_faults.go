package api

import (
	"context"
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

// Completes a refusal. A request checks its form by itself, and its operation checks it against the database. A refusal of the form also
// names the faults that only the database shows, so that a client learns every fault at once.

// storedChecker is a request with faults that only the database or the server's settings show.
type storedChecker interface {
	// storedFaults returns these faults. It writes nothing. An error, such as an unknown profile, replaces the faults.
	storedFaults(ctx context.Context, s *API) (faults, error)
}

// completable has the refusal of a request name its stored faults too. Resolve calls it.
func completable(ctx huma.Context, in storedChecker) { requestOf(ctx.Context()).refusable = in }

// moreFaults returns the faults of a refused request that errs lacks.
func (r *request) moreFaults(ctx context.Context, errs []error) (more []error) {
	if r.refusable == nil {
		return nil
	}
	f, err := r.refusable.storedFaults(ctx, r.api)
	if err != nil {
		return []error{fromError(err)}
	}
	for _, fault := range f.errors() {
		if !slices.ContainsFunc(errs, func(e error) bool { return e.Error() == fault.Error() }) {
			more = append(more, fault)
		}
	}
	return more
}
