// Package pool manages saved proxies: it seals their passwords, checks them on request and on schedule, and rotates
// their exits. It does not know browsers.
package pool

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"warren/events"
	"warren/problem"
	"warren/proxy"
	"warren/store"
	"warren/tally"
)

// Config configures checks and rotations.
type Config struct {
	AtOnce        int           // concurrent checks; 0: the default
	Files         int           // limit of this process's file descriptors; 0: not known
	Every         Every         // interval of scheduled checks
	RotateEvery   time.Duration // minimum interval between two rotations of one proxy
	RotateTimeout time.Duration // how long a rotation waits for a new exit
	Own           Own           // where this server itself answers
	Spans         tally.Spans   // takes the spans of checks; nil: nobody traces
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
	tally   poolTally
}

// New makes a pool. Its background work ends with ctx.
func New(ctx context.Context, cfg Config, log *slog.Logger, st *store.Store, ev *events.Log, checker *proxy.Checker) *Pool {
	return &Pool{cfg: cfg, log: log, store: st, events: ev, checker: checker, ctx: ctx,
		checks:  proxy.CheckGroup[*Check]{Checker: checker},
		limiter: &proxy.FairLimiter{Slots: checksAtOnce(cfg.AtOnce, cfg.Files)},
		tally:   poolTally{spans: cfg.Spans},
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

// Own is where this server itself answers: no page, no rotateUrl and no webhook may reach it.
type Own struct {
	Ports []string // of this machine: of the API, of --metrics-listen, and 443 with --acme
	Names []string // those of --acme
}

// Is reports whether host and port are this server. host is an IP address or a name of localhost; every name counts.
func (o Own) Is(host, port string) bool {
	if !o.Has(port) {
		return false
	}
	a, err := netip.ParseAddr(host)
	return err != nil || a.IsLoopback() || a.IsUnspecified() || slices.Contains(machineAddrs(), a)
}

// Has reports whether the server answers at a port of this machine.
func (o Own) Has(port string) bool { return slices.Contains(o.Ports, port) }

// Leads reports the same for an address from anywhere. Of names, only localhost and those of the server count.
func (o Own) Leads(host, port string) bool {
	_, err := netip.ParseAddr(host)
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return (err == nil || host == "localhost" || slices.Contains(o.Names, host)) && o.Is(host, port)
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
	return problem.New(problem.Unavailable, "server_stopping", "The server is stopping. Try again when it is back.")
}

// MaxCheckAge is how long a good check counts as recent.
const MaxCheckAge = 10 * time.Minute

// Proxy is a saved proxy with its unsealed address.
type Proxy struct {
	store.Proxy
	Address proxy.Proxy // without the password if it cannot be unsealed

	passwordErr error // why the password cannot be unsealed; nil: it was, or there is none
}

// Get reads a proxy that the scope allows. Other proxies are not found.
func (p *Pool) Get(ctx context.Context, s store.Scope, id string) (Proxy, error) {
	row, err := p.store.Read().GetProxy(ctx, store.GetProxyParams{ID: id, Workspaces: s.Filter()})
	if errors.Is(err, store.ErrNoRow) {
		return Proxy{}, problem.Missing("proxy")
	}
	if err != nil {
		return Proxy{}, err
	}
	return p.Open(row), nil
}

// Open unseals a row's password. Usable returns the error if that fails.
func (p *Pool) Open(row store.Proxy) Proxy {
	px := Proxy{Proxy: row, Address: proxy.Proxy{Type: proxy.Type(row.Type), Host: row.Host, Port: int(row.Port), Username: row.Username}}
	if row.Password == nil {
		return px
	}
	plain, err := p.store.Unseal("proxies", "password", row.ID, row.Password)
	px.Address.Password, px.passwordErr = string(plain), err
	return px
}

// Usable returns an error if the proxy's password could not be unsealed.
func (px Proxy) Usable() error {
	if px.passwordErr != nil {
		return PasswordUnreadable(px.passwordErr)
	}
	return nil
}

// PasswordUnreadable is the error of an operation that needs a password sealed with another key.
func PasswordUnreadable(err error) *problem.Error {
	return problem.New(problem.Conflict, "password_unreadable",
		"The proxy's saved password cannot be opened with this server's secret key. "+
			"Give the password again, or bring the key back.").Because(err)
}

// Seal writes an address into a row. The password is sealed and bound to the row, and so is rotateUrl unless it is
// sealed already.
func (p *Pool) Seal(row *store.Proxy, address proxy.Proxy) (err error) {
	row.Type, row.Host, row.Port, row.Username = string(address.Type), address.Host, int64(address.Port), address.Username
	row.Password = nil
	if row.RotateSealed == nil {
		if row.RotateURL, row.RotateSealed, err = p.store.SealRotateURL(row.ID, row.RotateURL); err != nil {
			return err
		}
	}
	if address.Password == "" {
		return nil
	}
	row.Password, err = p.store.Seal("proxies", "password", row.ID, []byte(address.Password))
	return err
}

// Existing is the detail of the error duplicate: the id of the existing object.
type Existing string

// Users is the detail of the error proxy_in_use: the profiles that use the proxy.
type Users []string

// Duplicate refuses an address that another row of the workspace has.
func Duplicate(ctx context.Context, q *store.Queries, row store.Proxy) error {
	first, err := q.GetProxyByAddress(ctx, store.GetProxyByAddressParams{WorkspaceID: row.WorkspaceID, Type: row.Type, Host: row.Host,
		Port: row.Port, Username: row.Username})
	if errors.Is(err, store.ErrNoRow) || err == nil && first.ID == row.ID {
		return nil
	}
	if err != nil {
		return err
	}
	return IsDuplicate(first.ID)
}

// IsDuplicate returns the error for an address that the proxy id already has.
func IsDuplicate(id string) *problem.Error {
	return problem.New(problem.Conflict, "duplicate",
		"This workspace has a proxy with the same type, host, port and username already: `existingId` names it.").With(Existing(id))
}

// maxUsers is how many profiles the error proxy_in_use names.
const maxUsers = 1000

// Unused returns an error if profiles use the proxy, or have it as a fallback.
func Unused(ctx context.Context, q *store.Queries, s store.Scope, row store.Proxy) error {
	var users []string
	var err error
	if row.ProfileCount > 0 {
		users, err = q.ListProfilesOfProxy(ctx, store.ListProfilesOfProxyParams{ProxyID: row.ID, Workspaces: s.Filter(), Limit: maxUsers})
	}
	if left := maxUsers - len(users); err == nil && left > 0 {
		var more []string
		more, err = q.ListProfilesWithFallback(ctx, store.ListProfilesWithFallbackParams{WorkspaceID: row.WorkspaceID, ProxyID: row.ID,
			Workspaces: s.Filter(), Limit: int64(left)})
		users = append(users, more...)
	}
	if err != nil || len(users) == 0 {
		return err
	}
	return InUse(users)
}

// InUse returns the error for a proxy that profiles use.
func InUse(profiles []string) *problem.Error {
	return problem.New(problem.Conflict, "proxy_in_use",
		"Profiles use this proxy, or fall back on it: `profileIds` names them (1,000 at most). "+
			"Give them another one first; a profile is never sent out directly by a deletion.").With(Users(profiles))
}

// Recent returns the last check if it was good and is younger than MaxCheckAge; nil otherwise.
func (px Proxy) Recent() *Check {
	var c Check
	if px.LastCheck == nil || json.Unmarshal([]byte(*px.LastCheck), &c) != nil || !c.OK ||
		time.Since(c.CheckedAt).Abs() > MaxCheckAge { // a check in the future was made while the clock was wrong
		return nil
	}
	return &c
}

// LastGood returns the last good check of a proxy, however old; nil if there is none.
func (p *Pool) LastGood(ctx context.Context, px Proxy) (*Check, error) {
	if c := px.Recent(); c != nil {
		return c, nil
	}
	text, err := p.store.Read().GetLastGoodProxyCheck(ctx, px.ID)
	if errors.Is(err, store.ErrNoRow) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := new(Check)
	return c, json.Unmarshal([]byte(text), c)
}

// The database stores the latencies of a proxy's last checks as one text: milliseconds, oldest first, separated by
// spaces. A failed check is "-".

// maxKeptChecks is how many checks of a proxy are kept.
const maxKeptChecks = 100

// withLatency appends the latency of a check, in milliseconds; nil if it failed. It drops the oldest beyond
// maxKeptChecks.
func withLatency(recent string, ms *int64) string {
	next := "-"
	if ms != nil {
		next = strconv.FormatInt(*ms, 10)
	}
	if recent == "" {
		return next
	}
	if strings.Count(recent, " ") >= maxKeptChecks-1 {
		_, recent, _ = strings.Cut(recent, " ")
	}
	return recent + " " + next
}

// Latency summarises the latencies of a proxy's last good checks.
type Latency struct {
	P50Ms int64 `json:"p50Ms" doc:"Half of them took at most so long." example:"182"`
	P95Ms int64 `json:"p95Ms" doc:"95 of 100 took at most so long." example:"411"`
	Count int   `json:"count" doc:"How many there are: at most the last 100 checks that are kept." example:"97"`
}

// LatencyOf returns the percentiles by nearest rank; nil if no check was good.
func LatencyOf(recent string) *Latency {
	var all []int64
	for word := range strings.FieldsSeq(recent) {
		if ms, err := strconv.ParseInt(word, 10, 64); err == nil {
			all = append(all, ms)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	rank := func(percent int) int64 { return all[(len(all)*percent+99)/100-1] }
	return &Latency{rank(50), rank(95), len(all)}
}
