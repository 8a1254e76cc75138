package api

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"warren/events"
	"warren/logs"
	"warren/nodes"
	"warren/pool"
	"warren/runs"
	"warren/schedules"
	"warren/store"
	"warren/web"
	"warren/webhooks"
)

// Deps are what New needs. Each one must be set.
type Deps struct {
	Config Config
	Log    *slog.Logger
	Store  *store.Store
	Pool   *pool.Pool
	Runs   *runs.Manager
	Events *events.Log
	Nodes  *nodes.Node
	Site   *web.Site

	Schedules *schedules.Scheduler
	Webhooks  *webhooks.Sender
	Metrics   http.Handler // answers GET /metrics
}

// API is the HTTP server of Warren. New sets its fields; they do not change while it serves.
type API struct {
	cfg          Config
	log          *slog.Logger
	store        *store.Store
	keys         *keyring
	tickets      *tickets
	loginCodes   *tickets // of login links; their path is empty
	authFailures *authFailures
	keyQuota     *quota
	uploadQuota  *quota        // by profile id
	listings     chan struct{} // semaphore: one token for each list of downloads that is being read
	adding       chan struct{} // semaphore: one token for each package of an extension that is being unpacked
	listsRead    chan struct{} // semaphore: lists of profiles that are read into memory
	runs         *runs.Manager
	schedules    *schedules.Scheduler
	webhooks     *webhooks.Sender
	events       *events.Log
	nodes        *nodes.Node
	pool         *pool.Pool
	site         *web.Site
	api          huma.API
	mux          *http.ServeMux
	needs        map[string]store.Right // the scope that each pattern of mux needs
	places       map[string]place       // who answers each pattern
	actions      map[string]string      // of the audit log, by pattern
	refusals     refusals
	slow         map[string]bool // the patterns of slowOperations
	idempotency  *idempotency
	workspaces   workspaces
	compressors  compressors
	deals        *deals
	jobs         jobs
	installs     installations
	keyContexts  keyContexts
	hosts        map[string]bool // accepted Host values
	origins      map[string]bool // accepted Origin values
	base         string          // scheme://host:port
	writeTime    time.Duration   // deadline of one write to a stream
	openapi      []byte
	operations   map[string]string // operation ids, by pattern
	refusalLines *logs.Bounded     // the log's lines of refused requests
	started      time.Time
	http         *http.Server

	metrics  http.Handler
	answered [6]atomic.Int64 // by the first digit of the status

}

// New returns an API with its routes registered. It serves nothing until Serve.
func New(d Deps) *API {
	useOurErrors()
	s := &API{cfg: d.Config, log: d.Log, store: d.Store, runs: d.Runs, schedules: d.Schedules, events: d.Events, pool: d.Pool, site: d.Site,
		keys: newKeyring(d.Store, d.Config.Key), authFailures: newAuthFailures(),
		idempotency: newIdempotency(d.Store, d.Nodes, d.Log), deals: newDeals(d.Store, d.Nodes, d.Log), started: time.Now(),
		mux: http.NewServeMux(), needs: map[string]store.Right{}, places: map[string]place{}, slow: map[string]bool{},
		actions:     map[string]string{},
		refusals:    refusals{byKey: map[string]*refusedKey{}},
		keyQuota:    newKeyQuota(d.Config.maxConnections()),
		keyContexts: keyContexts{byKey: map[string]map[context.Context]context.CancelFunc{}},
		jobs:        jobs{most: maxJobProfiles}, metrics: d.Metrics, refusalLines: logs.NewBounded(refusalsLogged, refusalsAtOnce),
		webhooks: d.Webhooks, nodes: d.Nodes,
		uploadQuota: newUploadQuota(), listings: make(chan struct{}, maxListings),
		listsRead: make(chan struct{}, 1), adding: make(chan struct{}, maxAdding), writeTime: writeTime}
	s.workspaces.shared = d.Store.Shared()
	s.tickets, s.loginCodes = newTickets(s.keys), newTickets(s.keys)
	s.api = humago.NewWithPrefix(s.mux, Prefix, s.humaConfig())
	s.routes()
	for pattern, action := range auditActions() {
		s.actions[strings.Replace(pattern, "/", Prefix+"/", 1)] = action
	}
	for _, operation := range slowOperations() {
		s.slow[strings.Replace(operation, " ", " "+Prefix, 1)] = true
	}
	s.openapi = s.describe()
	s.operations = s.operationIDs()
	s.base = s.initHosts(d.Config.Address)
	s.http = &http.Server{Handler: s, DisableGeneralOptionsHandler: true, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 32 << 10, TLSConfig: d.Nodes.ServerTLS(d.Config.TLS), ErrorLog: slog.NewLogLogger(d.Log.Handler(), slog.LevelDebug)}
	s.http.Protocols = new(http.Protocols)
	s.http.Protocols.SetHTTP1(true) // event streams and WebSocket upgrades rely on HTTP/1.1
	return s
}

// Base returns the server's own address as scheme://host:port.
func (s *API) Base() string { return s.base }

// Serve answers the connections of l until Shutdown. It then returns http.ErrServerClosed.
func (s *API) Serve(l net.Listener) error {
	limited := newLimitListener(l, s.cfg.maxConnections(), s.log)
	s.http.ConnState = limited.connState
	s.http.RegisterOnShutdown(func() { time.AfterFunc(unusedTime, limited.closeUnused) })
	switch {
	case s.cfg.TLS != nil:
		return s.http.ServeTLS(limited, "", "")
	case s.http.TLSConfig != nil: // for other servers
		return s.http.Serve(newEitherListener(limited, s.http.TLSConfig, s.http.ReadHeaderTimeout))
	}
	return s.http.Serve(limited)
}

// unusedTime is how long a stop waits for the first request on a connection: it may be under way. http.Server.Shutdown would wait
// for 5 seconds.
const unusedTime = 500 * time.Millisecond

// Shutdown ends the jobs, waits for requests under way to finish, at most until ctx ends, and closes the remaining connections.
// It then writes the times at which keys were last used. Answers that wait for the database are given up.
func (s *API) Shutdown(ctx context.Context) error {
	s.jobs.close(ctx)
	s.idempotency.close()
	err := s.http.Shutdown(ctx)
	return errors.Join(err, s.http.Close(), s.keys.flush(ctx))
}

// Prepare deletes idempotency rows of requests that an earlier process did not finish, and its deals of proxies. Keys and proxies can be
// used again. It revokes the session keys of a former WARREN_API_KEY. It must run before Serve.
func (s *API) Prepare(ctx context.Context) error {
	err := s.store.Write(ctx, func(q *store.Queries) error {
		own := s.idempotency.nodes.Owner()
		err := cmp.Or(store.ErrorOf(q.DeleteUnfinishedIdempotency(ctx, own)), store.ErrorOf(q.DeleteDealsOfNode(ctx, own)))
		if err != nil || s.store.Shared() { // of several servers each takes the session keys of its own WARREN_API_KEY alone
			return err
		}
		former := store.RevokeOtherEnvironmentsParams{RevokedAt: now(), Mark: s.keys.environment}
		return store.ErrorOf(q.RevokeOtherEnvironments(ctx, former))
	})
	return errors.Join(err, s.sweepPackages(ctx, s.runs.Packages().Sweep))
}

// Sweep deletes old places of lists. It writes the times at which keys were last used, and removes packages that were deleted while a
// run had them loaded. If clockTrusted, it removes old entries of the audit log, and idempotent answers older than 24 hours: without
// them a repeated request would be done again. The server's own log learns how many refusals it left out.
func (s *API) Sweep(ctx context.Context, clockTrusted bool) error {
	s.logLeftOut()
	var removed error
	if clockTrusted {
		removed = s.removeOld(ctx)
	}
	return errors.Join(removed, s.store.ForgetGone(ctx), s.keys.flush(ctx), s.deals.sweep(ctx),
		s.sweepPackages(ctx, s.runs.Packages().Prune))
}

func (s *API) removeOld(ctx context.Context) error {
	err := s.idempotency.purge(ctx)
	if s.cfg.AuditDays > 0 {
		err = errors.Join(err, s.store.RemoveAudit(ctx, time.Now().AddDate(0, 0, -s.cfg.AuditDays)))
	}
	return err
}

// FirstKey creates the first API key of an empty data folder and returns it. It returns an empty string when there is a key already.
func (s *API) FirstKey(ctx context.Context) (string, error) {
	if s.cfg.Key != "" {
		return "", nil
	}
	return s.keys.firstKey(ctx, s.cfg.Data)
}
