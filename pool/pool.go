// Package pool manages saved proxies: it seals their passwords, checks them on request and on schedule, and rotates
// their exits. It does not know browsers.
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

// Config configures checks and rotations.
type Config struct {
	AtOnce        int           // concurrent checks; 0: the default
	Files         int           // limit of this process's file descriptors; 0: not known
	Every         Every         // interval of scheduled checks
	RotateEvery   time.Duration // minimum interval between two rotations of one proxy
	RotateTimeout time.Duration // how long a rotation waits for a new exit
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
	limiter *proxy.FairLimiter       // of CheckMany, across workspaces
	ctx     context.Context
	moves   moves
}

// New makes a pool. Its background work ends with ctx.
func New(ctx context.Context, cfg Config, log *slog.Logger, st *store.Store, ev *events.Log, checker *proxy.Checker) *Pool {
	return &Pool{cfg: cfg, log: log, store: st, events: ev, checker: checker, ctx: ctx,
		checks:  proxy.CheckGroup[*Check]{Checker: checker},
		limiter: &proxy.FairLimiter{Slots: checksAtOnce(cfg.AtOnce, cfg.Files)},
		moves:   moves{wake: make(chan struct{}, 1)}}
}

// Move reports that a check has found a new exit of a proxy.
type Move struct{ Workspace, ProxyID string }

// moves is the queue of moves that AwaitMoves has not returned yet.
type moves struct {
	mu      sync.Mutex
	pending []Move
	wake    chan struct{} // holds a token while pending is not empty
}

func (m *moves) add(one Move) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.pending, one) {
		m.pending = append(m.pending, one)
	}
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// AwaitMoves waits for moves and returns them. It returns nil when ctx ends.
func (p *Pool) AwaitMoves(ctx context.Context) []Move {
	select {
	case <-p.moves.wake:
	case <-ctx.Done():
		return nil
	}
	p.moves.mu.Lock()
	defer p.moves.mu.Unlock()
	list := p.moves.pending
	p.moves.pending = nil
	return list
}

// Own is this server's own address, which no page and no rotateUrl may reach.
type Own struct{ Port string }

// Is reports whether host and port are this server. host is an IP address or a name of localhost; every name counts.
func (o Own) Is(host, port string) bool {
	if port != o.Port {
		return false
	}
	a, err := netip.ParseAddr(host)
	return err != nil || a.IsLoopback() || slices.Contains(machineAddrs(), a)
}

// Leads reports the same for an address from anywhere. Of names, only localhost counts.
func (o Own) Leads(host, port string) bool {
	_, err := netip.ParseAddr(host)
	return (err == nil || host == "localhost") && o.Is(host, port)
}

func machineAddrs() (out []netip.Addr) {
	addrs, _ := net.InterfaceAddrs() // if it fails, loopback addresses still count
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
