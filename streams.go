package main

import (
	"fmt"
	"net/http"
	"sync"
)

// This file bounds what one key holds open at a time: streams of events, CDP clients and live views. They last, so that who opens many of them would take
// the server from everybody else at the bound of connections (connections.go).

// streams counts what is open, by key. Addresses of a run count for the key that they were made for.
type streams struct {
	most int // 0: there is no bound

	mu   sync.Mutex
	open map[string]int
}

// newStreams lets a key hold a quarter of the connections that the server holds.
func newStreams(connections int) *streams {
	return &streams{most: (connections + 3) / 4, open: map[string]int{}}
}

// enter counts one more of a key, or answers 429 too_many_connections. leave must be called.
func (s *streams) enter(keyID string) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.most > 0 && s.open[keyID] >= s.most {
		return nil, problemFor(http.StatusTooManyRequests, "too_many_connections", fmt.Sprintf("This key holds %d connections for events, clients and live views, which is a quarter of what the server holds. Close some, or let the server have more descriptors (ulimit -n).", s.most)).
			header("Retry-After", "10")
	}
	s.open[keyID]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open[keyID]--; s.open[keyID] == 0 {
			delete(s.open, keyID)
		}
	}, nil
}
