package webhooks

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"warren/events"
	"warren/proxy"
	"warren/store"
	"warren/testnet"
)

// world is a sender on a real database. Its endpoints are on this machine.
type world struct {
	t      *testing.T
	dir    string
	cfg    Config
	shared store.Options // of a database with other servers
	store  *store.Store
	events *events.Log
	log    *testnet.Buffer
	sender *Sender
	end    func()
}

func newWorld(t *testing.T, cfg Config) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), cfg: cfg, log: new(testnet.Buffer)}
	w.begin()
	t.Cleanup(func() { w.end() })
	return w
}

// begin opens the database and runs a sender on it.
func (w *world) begin() {
	w.t.Helper()
	var err error
	o := w.shared
	if o.Database == "" {
		o.Database = testnet.DatabaseOf(w.t, w.dir)
	}
	if w.store, err = store.Open(w.t.Context(), w.dir, o); err != nil {
		w.t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(w.log, nil))
	if w.events, err = events.Open(w.t.Context(), w.store.Bus(), log); err != nil {
		w.t.Fatal(err)
	}
	w.sender, err = New(w.t.Context(), w.cfg, log, w.store, w.events)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var keeping sync.WaitGroup
	keeping.Go(func() { w.sender.Keep(ctx) })
	w.end = sync.OnceFunc(func() {
		cancel()
		w.events.Close()
		keeping.Wait()
		if err := w.store.Close(); err != nil {
			w.t.Error(err)
		}
	})
}

// restart ends the sender and its database, and begins anew on the same data.
func (w *world) restart() {
	w.t.Helper()
	w.end()
	w.begin()
}

func private() Config { return Config{Policy: proxy.Policy{AllowPrivate: true}} }

// must ends the test on an error.
func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// write changes the database.
func (w *world) write(fn func(*store.Queries) error) {
	w.t.Helper()
	w.must(w.store.Write(w.t.Context(), fn))
}

// webhook makes a webhook of a workspace or of WholeServer, and returns its id and its secret.
func (w *world) webhook(workspace, address string, patterns ...string) (id, secret string) {
	w.t.Helper()
	id, secret = store.NewID(), NewSecret()
	sealed, err := w.sender.Seal(id, address, secret)
	w.must(err)
	w.write(func(q *store.Queries) error {
		at := time.Now().UnixMilli()
		row := store.InsertWebhookParams{ID: id, URL: sealed.URL, Secret: sealed.Secret, Events: listOf(patterns), Enabled: true,
			CreatedAt: at, UpdatedAt: at}
		if workspace == WholeServer {
			return store.ErrorOf(q.InsertWebhook(w.t.Context(), row))
		}
		row.WorkspaceID = &workspace
		if err := store.ErrorOf(q.EnsureWorkspace(w.t.Context(), store.EnsureWorkspaceParams{ID: workspace, Now: at})); err != nil {
			return err
		}
		return store.ErrorOf(q.InsertWebhook(w.t.Context(), row))
	})
	w.must(w.sender.Changed(w.t.Context()))
	return id, secret
}

// moveTo gives a webhook another address.
func (w *world) moveTo(id, address string) {
	w.t.Helper()
	row := w.row(id)
	sealed, err := w.sender.SealURL(id, address)
	w.must(err)
	w.write(func(q *store.Queries) error {
		return store.ErrorOf(q.UpdateWebhook(w.t.Context(), store.UpdateWebhookParams{ID: id, Revision: row.Revision, URL: sealed,
			Secret: row.Secret, Events: row.Events, Enabled: true}))
	})
	w.must(w.sender.Changed(w.t.Context()))
}

func (w *world) row(id string) store.Webhook {
	w.t.Helper()
	row, err := w.store.Read().GetWebhook(w.t.Context(), store.GetWebhookParams{ID: id})
	w.must(err)
	return row
}

func (w *world) deliveries(id, state string) []store.WebhookDelivery {
	w.t.Helper()
	rows, err := w.store.Read().ListDeliveries(w.t.Context(), store.ListDeliveriesParams{WebhookID: id, AfterID: "~", InState: state,
		Limit: 100})
	w.must(err)
	return rows
}

// awaitTries waits until the newest delivery has so many attempts, and returns it with them.
func (w *world) awaitTries(id string, n int) (row store.WebhookDelivery, tries []Attempt) {
	w.t.Helper()
	testnet.Eventually(w.t, "the attempts", func() bool {
		if rows := w.deliveries(id, ""); len(rows) > 0 {
			row = rows[0]
			tries, _ = Attempts(row.Tries)
		}
		return len(tries) >= n
	})
	return row, tries
}

// publish publishes an event of a workspace.
func (w *world) publish(workspace, kind string, data any) {
	w.events.Publish(events.Event{Type: kind, Workspace: workspace, Data: data})
}

// awaitEvent waits for an event of a type, and returns its text.
func awaitEvent(t *testing.T, sub *events.Subscription, kind string) string {
	t.Helper()
	for late := time.After(enough); ; {
		select {
		case e := <-sub.C:
			if e.Type == kind {
				return string(e.Text())
			}
		case <-late:
			t.Fatalf("there is no %s", kind)
		}
	}
}

// received is a request that a receiver got.
type received struct {
	header http.Header
	body   []byte
}

// receiver is an endpoint. It answers 204 unless answer does otherwise.
type receiver struct {
	*httptest.Server
	got    chan received
	answer atomic.Pointer[func(w http.ResponseWriter, r *http.Request)]
}

func newReceiver(t *testing.T, start func(http.Handler) *httptest.Server) *receiver {
	t.Helper()
	r := &receiver{got: make(chan received, 1000)}
	r.Server = start(http.HandlerFunc(func(w http.ResponseWriter, rq *http.Request) {
		body, _ := io.ReadAll(rq.Body)
		r.got <- received{rq.Header, body}
		if answer := r.answer.Load(); answer != nil {
			(*answer)(w, rq)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(r.Close)
	return r
}

// answers sets what the receiver answers from now on; nil: 204.
func (r *receiver) answers(fn func(w http.ResponseWriter, rq *http.Request)) {
	if fn == nil {
		r.answer.Store(nil)
		return
	}
	r.answer.Store(&fn)
}

// status answers a status.
func status(code int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func (r *receiver) next(t *testing.T) received {
	t.Helper()
	select {
	case got := <-r.got:
		return got
	case <-time.After(enough):
		t.Fatal("nothing came")
		return received{}
	}
}

// verify checks a request with the official library.
func (got received) verify(secret string) error {
	verifier, err := standardwebhooks.NewWebhook(secret)
	return errors.Join(err, verifier.Verify(got.body, got.header))
}

type object struct {
	ID   string `json:"id"`
	Long string `json:"long,omitempty"`
}
