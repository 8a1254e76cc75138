package runs

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"warren/events"
	"warren/pool"
	"warren/problem"
	"warren/proxy"
	"warren/store"
	"warren/testnet"
)

// rig is a manager with a data folder of its own and a real database. Its browser only prints a version.
type rig struct {
	*Manager
	t    testing.TB
	dir  string // the data folder
	log  *testnet.Buffer
	stop func()
}

// emptyDatabase makes the files of a database that has no rows.
var emptyDatabase = testnet.Template(func(dir string) error {
	st, err := store.Open(context.Background(), dir, store.Options{})
	if err != nil {
		return err
	}
	return st.Close()
})

// newRig opens a manager without runs. The path is short because a socket's path is limited to 103 bytes.
func newRig(t testing.TB, change ...func(*Config)) *rig {
	t.Helper()
	return newRigOn(t, "", change...)
}

// newRigOn is newRig with a database of PostgreSQL; "": its own.
func newRigOn(t testing.TB, database string, change ...func(*Config)) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "warren-runs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	browser := testnet.FakeBrowser(t, "Chromium 156.0.8078.79", dir, "chromium")
	cfg := Config{Data: filepath.Join(dir, "data"), Executable: filepath.Join(dir, "no-shim"), Browser: browser, Headless: "always",
		AllowPrivate: true,
		MaxStarting:  2, MaxQueue: 1000, QueueTimeout: enough, StartTimeout: enough, TrashDays: 30}
	for _, fn := range change {
		fn(&cfg)
	}
	if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	if !testnet.OnPostgres() && database == "" {
		emptyDatabase(t, cfg.Data)
	}
	return openRigOn(t, cfg, cmp.Or(database, testnet.DatabaseOf(t, cfg.Data)))
}

// enough is a timeout for things that are immediate on an idle machine.
const enough = time.Minute

// openRig opens a manager on an existing data folder. The test's end closes the database.
func openRig(t testing.TB, cfg Config) *rig {
	t.Helper()
	return openRigOn(t, cfg, testnet.DatabaseOf(t, cfg.Data))
}

// openRigOn is openRig with the address of a database of PostgreSQL; "": SQLite.
func openRigOn(t testing.TB, cfg Config, database string) *rig {
	t.Helper()
	for _, sub := range []string{"profiles", "run"} {
		if err := os.MkdirAll(filepath.Join(cfg.Data, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r := &rig{t: t, dir: cfg.Data, log: new(testnet.Buffer)}
	log := slog.New(slog.NewJSONHandler(r.log, nil))
	st, err := store.Open(t.Context(), cfg.Data, store.Options{Logger: log, Database: database})
	if err != nil {
		t.Fatal(err)
	}
	ev := events.New()
	checker := &proxy.Checker{URLs: []string{"http://where.example/json"}, Timeout: 10 * time.Second,
		Policy: proxy.Policy{AllowPrivate: true}}
	px := pool.New(t.Context(), pool.Config{Own: cfg.Own}, log, st, ev, checker)
	if r.Manager, err = New(t.Context(), cfg, log, st, ev, px); err != nil {
		t.Fatal(err)
	}
	r.stop = sync.OnceFunc(func() {
		ev.Close()
		st.Close()
	})
	t.Cleanup(r.stop)
	return r
}

// again ends the manager like a crash does. The next manager adopts its runs.
func (r *rig) again(meanwhile func()) *rig {
	r.t.Helper()
	r.stop()
	meanwhile()
	next := openRig(r.t, r.cfg)
	if err := next.Adopt(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	if err := next.RecoverDeletions(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	return next
}

// write changes the database.
func (r *rig) write(fn func(q *store.Queries) error) {
	r.t.Helper()
	if err := r.store.Write(r.t.Context(), fn); err != nil {
		r.t.Fatal(err)
	}
}

// newProfile stores a profile with default settings, changed by change.
func (r *rig) newProfile(change ...func(*store.InsertProfileParams)) string {
	r.t.Helper()
	p := store.InsertProfileParams{ID: store.NewID(), WorkspaceID: "default", Name: "p", SearchKey: "p", OS: "linux",
		BrowserVersion: "156", Tags: "[]", StartURLs: "[]",
		Timezone: "system", Locale: "system", Geolocation: "off", WebRTC: "proxy_only", BackgroundTraffic: "refuse",
		AllowLocal: "[]", Consistency: "warn",
		FallbackProxyIDs: "[]", FallbackCountry: "same", AllowHosts: "[]", DenyHosts: "[]", LocalhostVia: "[]", Args: "[]", Passkeys: "off",
		Extensions: "[]",
		CreatedAt:  1, UpdatedAt: 1}
	for _, fn := range change {
		fn(&p)
	}
	r.write(func(q *store.Queries) error {
		if _, err := q.EnsureWorkspace(r.t.Context(), store.EnsureWorkspaceParams{ID: p.WorkspaceID, Now: 1}); err != nil {
			return err
		}
		_, err := q.InsertProfile(r.t.Context(), p)
		return err
	})
	return p.ID
}

// newProxy stores a SOCKS5 proxy of the default workspace.
func (r *rig) newProxy(host string, port int, tags ...string) string {
	r.t.Helper()
	return r.newProxyIn("default", host, port, tags...)
}

func (r *rig) newProxyIn(workspace, host string, port int, tags ...string) string {
	r.t.Helper()
	row := store.Proxy{ID: store.NewID()}
	if err := r.pool.Seal(&row, proxy.Proxy{Type: proxy.SOCKS5, Host: host, Port: port, Username: "user", Password: "word"}); err != nil {
		r.t.Fatal(err)
	}
	text, err := json.Marshal(append([]string{}, tags...))
	if err != nil {
		r.t.Fatal(err)
	}
	r.write(func(q *store.Queries) error {
		if _, err := q.EnsureWorkspace(r.t.Context(), store.EnsureWorkspaceParams{ID: workspace, Now: 1}); err != nil {
			return err
		}
		_, err := q.InsertProxy(r.t.Context(), store.InsertProxyParams{ID: row.ID, WorkspaceID: workspace, Type: row.Type,
			Host: row.Host, Port: row.Port,
			Username: row.Username, Password: row.Password, Tags: string(text), CreatedAt: 1, UpdatedAt: 1})
		return err
	})
	return row.ID
}

// row reads a profile from the database.
func (r *rig) row(id string) store.Profile {
	r.t.Helper()
	row, err := r.store.Read().GetProfileAny(r.t.Context(), store.GetProfileAnyParams{ID: id})
	if err != nil {
		r.t.Fatal(err)
	}
	return row
}

// status returns the status that the API shows of a profile.
func (r *rig) status(id string) string {
	r.t.Helper()
	status, _ := r.Status(id, StatusAtRest(r.row(id)))
	return status
}

// openDatabase opens the manager's database, like another program. The caller closes it.
func (r *rig) openDatabase() *sql.DB {
	r.t.Helper()
	return testnet.OpenDatabase(r.t, r.dir, filepath.Join(r.dir, store.FileName))
}

// rewrite changes the database past the manager.
func (r *rig) rewrite(statement string, args ...any) {
	r.t.Helper()
	db := r.openDatabase()
	defer db.Close()
	testnet.Rewrite(r.t, db, statement, args...)
	r.store.Forget()
}

// runOf writes the row of a run that has begun.
func (r *rig) runOf(profile string, at int64) (id string) {
	r.t.Helper()
	id = store.NewID()
	r.write(func(q *store.Queries) error {
		if err := q.InsertRun(r.t.Context(), store.InsertRunParams{ID: id, ProfileID: profile, StartedAt: at,
			Record: `{"id":"x"}`}); err != nil {
			return err
		}
		_, err := q.SetProfileStatus(r.t.Context(), store.SetProfileStatusParams{ID: profile, Status: "running", LastStartedAt: &at})
		return err
	})
	return id
}

func (r *rig) endOf(runID string) (outcome string) {
	r.t.Helper()
	row, err := r.store.Read().GetRun(r.t.Context(), store.GetRunParams{ID: runID})
	if err != nil {
		r.t.Fatal(err)
	}
	return row.Outcome
}

// await polls until ok returns true.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(enough); !ok(); <-tick.C {
		if time.Now().After(late) {
			t.Fatalf("%s: not within %v", what, enough)
		}
	}
}

// refuseStatus makes a trigger that refuses writes of a status, like a full disk. allowStatus removes it.
func (r *rig) refuseStatus() {
	r.t.Helper()
	if !testnet.OnPostgres() {
		r.rewrite(`CREATE TRIGGER refused BEFORE UPDATE OF status ON profiles BEGIN SELECT RAISE(ABORT, 'no status is written'); END`)
		return
	}
	r.rewrite(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no status is written'; END $$`)
	r.rewrite(`CREATE TRIGGER refused BEFORE UPDATE OF status ON profiles FOR EACH ROW EXECUTE FUNCTION refuse()`)
}

func (r *rig) allowStatus() {
	r.t.Helper()
	if !testnet.OnPostgres() {
		r.rewrite(`DROP TRIGGER refused`)
		return
	}
	r.rewrite(`DROP FUNCTION refuse() CASCADE`)
}

// everyone is a key with access to all workspaces.
var everyone = Asker{Sees: store.All()}

// wantCode fails the test unless err has the code.
func wantCode(t testing.TB, err error, code string) {
	t.Helper()
	if p, ok := errors.AsType[*problem.Error](err); !ok || p.Code != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

// trash moves a profile to the trash.
func (r *rig) trash(id string) {
	r.t.Helper()
	r.write(func(q *store.Queries) error {
		_, err := q.TrashProfile(r.t.Context(), store.TrashProfileParams{ID: id, TrashedAt: time.Now().UnixMilli()})
		return err
	})
}

// there reports whether a profile's row exists, in the trash or not.
func (r *rig) there(id string) bool {
	r.t.Helper()
	_, err := r.store.Read().GetProfileAny(r.t.Context(), store.GetProfileAnyParams{ID: id})
	if err != nil && !errors.Is(err, store.ErrNoRow) {
		r.t.Fatal(err)
	}
	return err == nil
}

// soon returns a time after that of every row, in milliseconds since 1970.
func soon() int64 { return time.Now().UnixMilli() + 1000 }
