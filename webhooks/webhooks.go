// Package webhooks tells endpoints of the events of their workspaces or of the whole server, by the rules of Standard Webhooks 1.0.
package webhooks

import (
	"context"
	"crypto/x509"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"warren/events"
	"warren/pool"
	"warren/proxy"
	"warren/store"
)

// Of several servers of a database each enqueues its own events, by the webhooks as they are then. One of them at a time delivers, so that
// the order and the limits of an endpoint are those of one server. It looks each second for what the others have enqueued.
//
// The database holds what is to be delivered. An event is in memory until its deliveries are written, some hundredths of a
// second. What is written is tried until an endpoint takes it, at least once, over restarts of the server.

// Config says what webhooks may reach.
type Config struct {
	// Policy judges every address that is dialled, after the look-up, as it judges a proxy server. With AllowPrivate webhooks may lead
	// to this machine and to private networks.
	Policy proxy.Policy
	// Own is this server, to which no webhook may lead.
	Own pool.Own
	// Roots verify the certificates of endpoints; nil: the system's.
	Roots *x509.CertPool
}

// Sender enqueues the events of workspaces for their webhooks, and delivers them.
type Sender struct {
	cfg    Config
	log    *slog.Logger
	store  *store.Store
	events *events.Log
	client *http.Client
	hooks  atomic.Pointer[hooks]
	wake   chan struct{} // holds a token when there is something to look at
	tests  chan struct{} // semaphore: tests under way

	queue queue
	sub   *events.Subscription

	mu      sync.Mutex
	touched map[string]bool        // webhooks whose deliveries have changed
	state   store.WebhooksStateRow // of the webhooks in hooks, where several servers may change them
}

// New makes a sender that takes every event of this server from now on: of several servers each tells of its own. Keep runs it.
func New(ctx context.Context, cfg Config, log *slog.Logger, st *store.Store, ev *events.Log) (*Sender, error) {
	s := &Sender{cfg: cfg, log: log, store: st, events: ev, client: newClient(cfg), wake: make(chan struct{}, 1),
		tests: make(chan struct{}, maxTests), queue: newQueue(), touched: map[string]bool{}}
	if err := s.Changed(ctx); err != nil {
		return nil, err
	}
	s.sub = ev.SubscribeOwn(s.sees, "")
	return s, nil
}

// Keep enqueues and delivers until ctx ends, which also cuts the attempts under way. It then enqueues what events are published
// until their log is closed.
func (s *Sender) Keep(ctx context.Context) {
	var collecting sync.WaitGroup
	defer collecting.Wait()
	collecting.Go(s.receive)
	collecting.Go(func() { s.collect(context.WithoutCancel(ctx)) })
	if s.store.Shared() {
		s.deliverAlone(ctx)
		return
	}
	newDispatcher(s).run(ctx)
}

// hook is a webhook as the sender uses it.
type hook struct {
	store.Webhook
	url      string
	patterns []string
	secrets  secrets
}

// hooks are all webhooks that are enabled and can be read.
type hooks struct {
	byID        map[string]*hook
	ofWorkspace map[string][]*hook
	ofServer    []*hook
}

// listeners are the webhooks that an event may go to. One for a key alone, or for administrators, goes to those of the server alone: who
// makes one sees everything.
func (all *hooks) listeners(e events.Entry) (out []*hook) {
	if e.Type == events.Lost {
		return slices.Collect(maps.Values(all.byID))
	}
	if e.Shared() {
		out = all.ofWorkspace[e.Workspace()]
	}
	return slices.Concat(out, all.ofServer)
}

// Changed reads the webhooks anew. Who makes, changes or deletes one calls it before it answers.
func (s *Sender) Changed(ctx context.Context) error {
	s.mu.Lock() // so that an older reading does not replace a newer one
	defer s.mu.Unlock()
	return s.readHooks(ctx)
}

// readHooks is Changed. The mutex is held.
func (s *Sender) readHooks(ctx context.Context) error {
	if s.store.Shared() { // before the rows: what changes meanwhile is read again
		state, err := s.store.Read().WebhooksState(ctx)
		if err != nil {
			return err
		}
		s.state = state
	}
	rows, err := s.store.Read().ListAllWebhooks(ctx)
	if err != nil {
		s.state = store.WebhooksStateRow{}
		return err
	}
	all := &hooks{byID: map[string]*hook{}, ofWorkspace: map[string][]*hook{}}
	for _, row := range rows {
		if !row.Enabled {
			continue
		}
		h, err := s.read(row)
		if err != nil {
			s.log.Error("a webhook cannot be read, so it is told nothing", "webhook", row.ID, "cause", err)
			continue
		}
		all.byID[row.ID] = h
		if row.WorkspaceID == nil {
			all.ofServer = append(all.ofServer, h)
		} else {
			all.ofWorkspace[*row.WorkspaceID] = append(all.ofWorkspace[*row.WorkspaceID], h)
		}
		s.touched[row.ID] = true
	}
	s.hooks.Store(all)
	s.signal()
	return nil
}

// WholeServer stands in the place of a workspace's id for the webhooks of all workspaces and of the server itself. It is no workspace's id.
const WholeServer = "*"

// Place returns the id of a webhook's workspace, or WholeServer.
func Place(row store.Webhook) string {
	if row.WorkspaceID == nil {
		return WholeServer
	}
	return *row.WorkspaceID
}

// OfWorkspace returns the workspace of a webhook's own events and entries of the audit; "": none.
func OfWorkspace(row store.Webhook) string {
	if row.WorkspaceID == nil {
		return ""
	}
	return *row.WorkspaceID
}

// read opens a webhook's address and secrets.
func (s *Sender) read(row store.Webhook) (*hook, error) {
	h := &hook{Webhook: row}
	address, err := s.URL(row)
	if err != nil {
		return nil, err
	}
	h.url = address
	if h.secrets, err = s.open(row); err != nil {
		return nil, err
	}
	return h, json.Unmarshal([]byte(row.Events), &h.patterns)
}

// wants reports whether a webhook is told of a type of events.
func (h *hook) wants(kind string) bool {
	return kind == events.Lost || slices.ContainsFunc(h.patterns, func(pattern string) bool { return matches(pattern, kind) })
}

// sees reports whether an event of a workspace, or for a key alone, may go to any webhook. Another server may have made one a moment ago.
func (s *Sender) sees(workspace, key string) bool {
	if s.store.Shared() {
		return true
	}
	all := s.hooks.Load()
	return len(all.ofServer) > 0 || key == "" && all.ofWorkspace[workspace] != nil
}

// touch notes that deliveries of some webhooks have changed.
func (s *Sender) touch(ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		s.touched[id] = true
	}
	s.signal()
}

func (s *Sender) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// takeTouched returns the webhooks whose deliveries have changed since the last call.
func (s *Sender) takeTouched() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.touched
	s.touched = map[string]bool{}
	return out
}

// publish publishes an event about a webhook.
func (s *Sender) publish(h *hook, kind string, data any) {
	s.events.Publish(events.Event{Type: kind, Workspace: OfWorkspace(h.Webhook), Data: data})
}

// The events of webhooks. Their members are in the order of their names.
type (
	// disabledEvent is webhook.disabled: the server turned a webhook off.
	disabledEvent struct {
		ID     string `json:"id"`
		Reason string `json:"reason"`
	}

	// droppedEvent is webhook.dropped: too many deliveries were pending.
	droppedEvent struct {
		Dropped int64  `json:"dropped"`
		ID      string `json:"id"`
	}
)

// instant is a time as rows and answers have it: UTC, milliseconds.
func instant(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
