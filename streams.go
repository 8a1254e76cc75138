package main

import (
	"fmt"
	"sync"
	"time"

	"warren/problem"
)

// This file bounds what one key holds open at a time: streams of events, CDP clients, live views, files on their way in and out, and operations that wait
// for something else than the database. They last, so that who opens many of them would take the server from everybody else at the bound of connections
// (connections.go).

// slowOperations are those that wait for a browser, a proxy or a reader. They end with the key that asked for them.
func slowOperations() []string {
	return []string{
		"POST /profiles/{id}/start", "POST /profiles/{id}/stop", "POST /profiles/{id}/restart", "POST /profiles/{id}/failback", "POST /profiles/batch",
		"POST /profiles/{id}/leak-test", "GET /profiles/{id}/screenshot", "GET /profiles/{id}/pdf", "GET /profiles/{id}/explain",
		"POST /proxies/{id}/check", "POST /proxies/check", "POST /proxies/check-all", "POST /proxies/{id}/rotate", "POST /proxies/import", "GET /proxies/export",
		"GET /profiles/{id}/traffic", "GET /proxies/{id}/traffic",
	}
}

// streams counts what is open, by key. Addresses of a run count for the key that they were made for.
type streams struct {
	most   int // 0: there is no bound
	detail string

	mu   sync.Mutex
	open map[string]int
}

// newStreams lets a key hold a quarter of the connections that the server holds.
func newStreams(connections int) *streams {
	most := (connections + 3) / 4
	return &streams{most: most, open: map[string]int{}, detail: fmt.Sprintf("This key holds %d connections for events, clients, live views, files and operations that take their time, which is a quarter of what the server holds. Close some, or let the server have more descriptors (ulimit -n).", most)}
}

// uploadsAtOnce is how many files may be on their way in for one profile: each is looked at for the quota after uploadStep bytes alone.
const uploadsAtOnce = 16

// newUploads counts by profile.
func newUploads() *streams {
	return &streams{most: uploadsAtOnce, open: map[string]int{}, detail: fmt.Sprintf("%d files are being sent for this profile already, which is as many as may be at a time. Wait for one.", uploadsAtOnce)}
}

// enter counts one more of a key, or answers 429 too_many_connections. leave must be called.
func (s *streams) enter(keyID string) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.most > 0 && s.open[keyID] >= s.most {
		return nil, problem.New(problem.TooMany, "too_many_connections", s.detail).After(10 * time.Second)
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
