package tests

import (
	"math"
	"testing"
	"time"

	"warren/testnet"
)

// TestSlowDatabase: a PostgreSQL 50 ms away each way. Everything works, and the log has the round trips of each request.
func TestSlowDatabase(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	database := testnet.OwnPostgres(t)
	link := testnet.NewLink(t, database.Address())
	s := newTestbed(t).serve("--store", link.Through(t, database.NewDatabase()))
	measure := func(what string, rounds, most int, request func()) {
		t.Helper()
		trips := math.MaxInt
		for range rounds { // connections prepare each statement once, and what the server does by itself counts too
			before := link.Trips()
			request()
			trips = min(trips, link.Trips()-before)
		}
		link.Delay(50 * time.Millisecond)
		defer link.Delay(0)
		began := time.Now()
		request()
		t.Logf("%s: %d round trips, %v", what, trips, time.Since(began).Round(time.Millisecond))
		if trips > most {
			t.Errorf("%s: %d round trips, want %d at most", what, trips, most)
		}
	}
	id := s.profile(nil)
	measure("get one", 30, 3, func() { s.get(id) })
	measure("list", 30, 3, func() { s.do("GET", "/profiles", nil, 200, nil) })
	measure("create", 30, 12, func() { s.profile(nil) })
	measure("start and stop", 4, 200, func() {
		s.start(id, nil)
		s.stop(id)
	})
}
