// Package pool keeps saved proxies: it opens and seals their passwords, checks one and many, now and over time, and makes them change their exit.
// It knows no browser.
package pool

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"warren/events"
	"warren/problem"
	"warren/proxy"
	"warren/store"
)

// Config says how proxies are checked and rotated.
type Config struct {
	AtOnce        int           // checks at once; 0: the default
	Files         int           // descriptors that this process may have; 0: the system does not tell
	Every         Every         // when checks come again
	RotateEvery   time.Duration // between two rotations of one proxy
	RotateTimeout time.Duration // until the exit must have changed
	Own           Own           // this server's own address
}

// Pool is the saved proxies of this data folder.
type Pool struct {
	cfg     Config
	log     *slog.Logger
	store   *store.Store
	events  *events.Log
	checker *proxy.Checker
	checks  proxy.CheckGroup[*Check] // of saved proxies
	limiter *proxy.FairLimiter       // of checks of many
	ctx     context.Context
	moves   moves
}

// New makes a pool whose work in the background ends with ctx.
func New(ctx context.Context, cfg Config, log *slog.Logger, st *store.Store, ev *events.Log, checker *proxy.Checker) *Pool {
	return &Pool{cfg: cfg, log: log, store: st, events: ev, checker: checker, ctx: ctx,
		checks: proxy.CheckGroup[*Check]{Checker: checker}, limiter: &proxy.FairLimiter{Slots: checksAtOnce(cfg.AtOnce, cfg.Files)}, moves: moves{wake: make(chan struct{}, 1)}}
}

// Move is a proxy whose exit a check has found to be another than before.
type Move struct{ Workspace, ProxyID string }

// moves are those that nobody has taken yet.
type moves struct {
	mu   sync.Mutex
	list []Move
	wake chan struct{} // holds a token while list is not empty
}

func (m *moves) add(one Move) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.list, one) {
		m.list = append(m.list, one)
	}
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// AwaitMoves waits until proxies have moved and takes them, or until ctx ends: then there are none.
func (p *Pool) AwaitMoves(ctx context.Context) []Move {
	select {
	case <-p.moves.wake:
	case <-ctx.Done():
		return nil
	}
	p.moves.mu.Lock()
	defer p.moves.mu.Unlock()
	list := p.moves.list
	p.moves.list = nil
	return list
}

// Own is this server's own address, which no page and no rotateUrl may reach.
type Own struct{ Port string }

// Is says whether host and port lead to it. A name is one of localhost's.
func (o Own) Is(host, port string) bool {
	if port != o.Port {
		return false
	}
	a, err := netip.ParseAddr(host)
	return err != nil || a.IsLoopback() || slices.Contains(machineAddrs(), a)
}

// Leads says the same of an address that anybody may have written: of a name only localhost is known to lead here.
func (o Own) Leads(host, port string) bool {
	_, err := netip.ParseAddr(host)
	return (err == nil || host == "localhost") && o.Is(host, port)
}

func machineAddrs() (out []netip.Addr) {
	addrs, _ := net.InterfaceAddrs() // without them loopback still counts
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p.Addr().Unmap())
		}
	}
	return out
}

// Stopping is the error of work that ends because the server stops.
func Stopping() *problem.Error {
	return problem.New(problem.Unavailable, "server_stopping", "The server is stopping; start again when it is back.")
}
