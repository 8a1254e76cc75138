package proxy

import (
	"context"
	"sync"
)

// CheckGroup shares checks: concurrent callers with the same key get one probe and one outcome. T is what becomes of a Result.
// A CheckGroup is safe for concurrent use and must not be copied after the first Do.
type CheckGroup[T any] struct {
	Checker *Checker

	mu      sync.Mutex
	flights map[string]*flight[T] // by key
}

// flight is one probe and the callers that wait for it.
type flight[T any] struct {
	done    chan struct{}
	outcome T     // set before done is closed
	err     error // set before done is closed
	cancel  context.CancelFunc
	waiters int // guarded by CheckGroup.mu; the last one to leave cancels
}

// Do checks a proxy and passes the Result to finish, once per probe and before any caller returns. All callers get what finish
// returned, which is that of the caller who started the probe. The probe runs as long as a caller waits for it.
// When the last one has left, the probe is cancelled and finish is not called.
// A caller whose ctx ends gets its error at once.
func (g *CheckGroup[T]) Do(ctx context.Context, key string, p Proxy, finish func(context.Context, Result) (T, error)) (T, error) {
	f := g.join(ctx, key, p, finish)
	defer g.leave(key, f)
	select {
	case <-f.done:
		return f.outcome, f.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

func (g *CheckGroup[T]) join(ctx context.Context, key string, p Proxy, finish func(context.Context, Result) (T, error)) *flight[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.flights[key]; f != nil {
		f.waiters++
		return f
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight[T]{done: make(chan struct{}), cancel: cancel, waiters: 1}
	if g.flights == nil {
		g.flights = map[string]*flight[T]{}
	}
	g.flights[key] = f
	go func() {
		defer close(f.done)
		r := g.Checker.Check(ctx, p)
		if f.err = ctx.Err(); f.err == nil {
			f.outcome, f.err = finish(ctx, r)
		}
		g.mu.Lock()
		g.forget(key, f)
		g.mu.Unlock()
	}()
	return f
}

// leave counts a caller off.
func (g *CheckGroup[T]) leave(key string, f *flight[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f.waiters--; f.waiters == 0 {
		g.forget(key, f)
		f.cancel()
	}
}

// forget removes a flight that has ended or is about to be cancelled, so that later callers start a new one. The caller holds g.mu.
func (g *CheckGroup[T]) forget(key string, f *flight[T]) {
	if g.flights[key] == f {
		delete(g.flights, key)
	}
}
