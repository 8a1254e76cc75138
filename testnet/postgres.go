package testnet

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	mrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// OnPostgres reports whether tests of the product keep its state in PostgreSQL (Postgres), instead of in SQLite as usual. It is so where
// the environment has WARREN_TEST_STORE=postgres.
func OnPostgres() bool { return os.Getenv("WARREN_TEST_STORE") == "postgres" }

// Postgres returns the postgres:// URL of a new, empty database of PostgreSQL, with the name and the password of its superuser. The end of
// the test drops it. The test process has one server, which begins with the first database and ends with the process, also when that is
// killed. What it writes is not synced to the disk: a commit outlives the server, not the machine. Without PostgreSQL the test is skipped.
func Postgres(t testing.TB) string {
	t.Helper()
	s := startedShared(t)
	name := s.newDatabase(t)
	t.Cleanup(func() {
		if _, err := s.run(maintenance, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return s.URL(name)
}

// DatabaseOf returns the URL of the database that belongs to a data folder, which it makes when it is asked first. Where tests keep the
// state in SQLite it returns "".
func DatabaseOf(t testing.TB, dir string) string {
	t.Helper()
	if !OnPostgres() {
		return ""
	}
	note := databaseNote(dir)
	known, err := os.ReadFile(note)
	if err == nil {
		return string(known)
	}
	url := Postgres(t)
	if err := os.WriteFile(note, []byte(url), 0o600); err != nil {
		t.Fatal(err)
	}
	return url
}

// databaseNote is the file that names the database of a data folder: beside it, so that nothing strange lies in it.
func databaseNote(dir string) string {
	return filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+".postgres")
}

// ForgetDatabase gives a data folder another database, an empty one. Where tests keep the state in SQLite it does nothing.
func ForgetDatabase(t testing.TB, dir string) {
	t.Helper()
	if err := os.Remove(databaseNote(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

func startedShared(t testing.TB) *PostgresServer {
	t.Helper()
	s, err := postgresHomeOf(t).shared()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// OwnPostgres starts a server of PostgreSQL for one test, which may stop, kill and restart it. settings are such as "max_connections=10"
// (postgresql.conf). The end of the test ends the server and removes it. Without PostgreSQL the test is skipped.
func OwnPostgres(t testing.TB, settings ...string) *PostgresServer {
	t.Helper()
	return ownPostgres(t, onLoopback(), settings, nil)
}

// OwnPostgresAt is OwnPostgres with a clock that is a time ahead of this machine's, or behind it. Without libfaketime the test is skipped.
func OwnPostgresAt(t testing.TB, ahead time.Duration) *PostgresServer {
	t.Helper()
	libraries, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1") // the pattern is valid
	if len(libraries) == 0 {
		t.Skip("libfaketime is not installed")
	}
	return ownPostgres(t, onLoopback(), nil, []string{"LD_PRELOAD=" + libraries[0], fmt.Sprintf("FAKETIME=%+d", int(ahead.Seconds())),
		"FAKETIME_DONT_FAKE_MONOTONIC=1"})
}

// placeOfServer is where a server of PostgreSQL runs.
type placeOfServer struct {
	address string                // on which it listens
	start   func(*exec.Cmd) error // starts its process there
}

func onLoopback() placeOfServer { return placeOfServer{"127.0.0.1", (*exec.Cmd).Start} }

func ownPostgres(t testing.TB, at placeOfServer, settings, env []string) *PostgresServer {
	t.Helper()
	s, err := postgresHomeOf(t).newServer(at, settings, env)
	if err != nil {
		t.Fatal(err)
	}
	s.t = t
	t.Cleanup(func() {
		if err := errors.Join(s.signal(PostgresImmediate), os.RemoveAll(s.dir)); err != nil {
			t.Errorf("remove the test's PostgreSQL: %v", err)
		}
	})
	return s
}

// Ways in which Stop ends a server (pg_ctl(1)).
const (
	PostgresFast      = syscall.SIGINT  // cancels transactions and writes everything to the disk
	PostgresImmediate = syscall.SIGQUIT // ends at once; the next start recovers from the log
)

// maintenance is the database that every server has from the start.
const maintenance = "postgres"

// postgresUser is the superuser of every server.
const postgresUser = "warren"

// PostgresServer is a server of PostgreSQL for one test. It listens on 127.0.0.1, or on the address of a host of a Lan, and asks for a
// password.
type PostgresServer struct {
	t        testing.TB // nil: the one that all tests of the process share
	home     *postgresHome
	at       placeOfServer
	dir      string // has the data and the log
	port     int    // stays the same over restarts
	settings []string
	env      []string

	process *os.Process   // the last one; nil: none was started
	ended   chan struct{} // closed when that has ended
}

// URL returns the address of a database, with the superuser's name and password.
func (s *PostgresServer) URL(database string) string {
	return fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", postgresUser, s.home.password, s.Address(), database)
}

// NewDatabase makes an empty database with a name of its own, and returns its URL.
func (s *PostgresServer) NewDatabase() string {
	s.t.Helper()
	return s.URL(s.newDatabase(s.t))
}

func (s *PostgresServer) newDatabase(t testing.TB) string {
	t.Helper()
	name := "warren" + strings.ToLower(rand.Text())
	if _, err := s.run(maintenance, "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return name
}

// Exec runs statements as the superuser in the database "postgres". The rows come back one a line, with | between columns.
func (s *PostgresServer) Exec(statements string) string {
	s.t.Helper()
	out, err := s.run(maintenance, statements)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// run runs statements with psql, and returns the rows.
func (s *PostgresServer) run(database, statements string) (string, error) {
	cmd := exec.Command(s.home.program("psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statements, s.URL(database))
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var faults bytes.Buffer
	cmd.Stderr = &faults
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("psql: %s: %w\n%s", statements, err, faults.Bytes())
	}
	return strings.TrimSuffix(string(out), "\n"), err
}

// Stop ends the server in one of the two ways above, and returns when its process has ended.
func (s *PostgresServer) Stop(how syscall.Signal) {
	s.t.Helper()
	if err := s.signal(how); err != nil {
		s.t.Fatal(err)
	}
}

// Kill kills the server (SIGKILL), and returns when its first process has ended. On Linux the others are killed too. Elsewhere each goes on
// until it notices, so that a statement may still succeed.
func (s *PostgresServer) Kill() {
	s.t.Helper()
	if err := killChildren(s.process.Pid); err != nil {
		s.t.Fatal(err)
	}
	s.Stop(syscall.SIGKILL)
}

// PID returns the number of the postmaster's process.
func (s *PostgresServer) PID() int { return s.process.Pid }

// signal sends a signal that ends the server, and waits for the end of its process. It does nothing to one that has ended.
func (s *PostgresServer) signal(how syscall.Signal) error {
	if s.process == nil {
		return nil
	}
	if err := s.process.Signal(how); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.ended:
		return nil
	case <-time.After(Patience):
		return fmt.Errorf("PostgreSQL goes on after %v: %s", how, s.Log())
	}
}

// Start starts a server that was stopped or killed, with the same data at the same port. It returns when clients are answered.
func (s *PostgresServer) Start() {
	s.t.Helper()
	if err := s.start(); err != nil {
		s.t.Fatal(err)
	}
}

// Log returns what the server has logged so far.
func (s *PostgresServer) Log() string {
	text, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (s *PostgresServer) logFile() string { return filepath.Join(s.dir, "log") }

// passing are faults of a start that end by themselves: after a kill the old processes may live on for a moment.
var passing = []string{"Address already in use", "is still in use", "is still running", "another server might be running"}

// start launches the server until it answers.
func (s *PostgresServer) start() error {
	for late := time.Now().Add(Patience); ; {
		before := len(s.Log())
		if err := s.launch(); err != nil {
			return err
		}
		if s.answers(late) {
			return nil
		}
		log := s.Log()[before:]
		if !slices.ContainsFunc(passing, func(p string) bool { return strings.Contains(log, p) }) || time.Now().After(late) {
			return fmt.Errorf("PostgreSQL does not start: %s", log)
		}
	}
}

// launch starts the process.
func (s *PostgresServer) launch() error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"-D", filepath.Join(s.dir, "data")}
	for _, setting := range append([]string{"listen_addresses=" + s.at.address, "unix_socket_directories=", "port=" + strconv.Itoa(s.port),
		"fsync=off", "full_page_writes=off", "max_connections=200", "shared_buffers=64MB",
		"max_wal_size=128MB", "dynamic_shared_memory_type=mmap", "log_timezone=UTC"}, s.settings...) {
		args = append(args, "-c", setting)
	}
	cmd := exec.Command(s.home.program("postgres"), args...)
	cmd.Env = append(append(os.Environ(), "LC_ALL=C"), s.env...)
	cmd.Dir = s.dir
	cmd.Stdout, cmd.Stderr = log, log // files: else Wait would wait for all its processes
	s.home.user.prepare(cmd)
	began, ended := make(chan error), make(chan struct{})
	go keepServer(cmd, s.at.start, began, ended)
	if err := <-began; err != nil {
		return err
	}
	s.process, s.ended = cmd.Process, ended
	return nil
}

// keepServer starts a server and waits for its end, which it tells by closing ended. The goroutine of the shared server lives as long as
// the process; tests that look for leaks leave it out by this name.
func keepServer(cmd *exec.Cmd, start func(*exec.Cmd) error, began chan<- error, ended chan<- struct{}) {
	runtime.LockOSThread() // the server ends with this thread
	defer runtime.UnlockOSThread()
	err := start(cmd)
	began <- err
	if err == nil {
		_ = cmd.Wait()
		close(ended)
	}
}

// answers waits until the server lets clients in. It returns false when the server has ended instead, or does not within the limit.
func (s *PostgresServer) answers(limit time.Time) bool {
	pause := time.NewTicker(10 * time.Millisecond)
	defer pause.Stop()
	for !letsIn(s.Address()) {
		select {
		case <-pause.C:
			if time.Now().After(limit) {
				return false
			}
		case <-s.ended:
			return false
		}
	}
	select {
	case <-s.ended: // somebody else's server has answered at this port
		return false
	default:
		return true
	}
}

// letsIn begins a connection of PostgreSQL's protocol, and reports whether the server asks for the password. A server that starts answers
// with an error. https://www.postgresql.org/docs/15/protocol-message-formats.html
func letsIn(address string) bool {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	text := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 0}, 3<<16) // the protocol's version
	text = append(text, "user\x00"+postgresUser+"\x00database\x00"+maintenance+"\x00\x00"...)
	binary.BigEndian.PutUint32(text, uint32(len(text))) //nolint:gosec // short
	_, err = c.Write(text)
	answer := make([]byte, 1)
	_, failed := io.ReadFull(c, answer)
	return errors.Join(err, failed) == nil && answer[0] == 'R'
}

// postgresHome is the folder with all servers of the test process.
type postgresHome struct {
	programs string // the folder of PostgreSQL's programs
	dir      string
	password string
	user     serverUser
	watch    io.Closer // the pipe to the watcher, whose end tells it that the process has ended

	shared func() (*PostgresServer, error)
	made   sync.Mutex // guards the rest
	count  int        // of servers
}

// postgresOfProcess finds or makes the home. To make it takes a second, once per test process.
var postgresOfProcess = sync.OnceValues(newPostgresHome)

// errNotInstalled is why tests with PostgreSQL are skipped.
var errNotInstalled = errors.New("PostgreSQL is not installed")

func postgresHomeOf(t testing.TB) *postgresHome {
	t.Helper()
	home, err := postgresOfProcess()
	if errors.Is(err, errNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return home
}

func (h *postgresHome) program(name string) string { return filepath.Join(h.programs, name) }

// newPostgresHome makes the folder, and the data of a server in it from which all others are copied.
func newPostgresHome() (*postgresHome, error) {
	programs, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	h := &postgresHome{programs: programs, password: rand.Text()}
	if h.user, err = userOfServers(); err != nil {
		return nil, err
	}
	if h.dir, err = os.MkdirTemp(FastFolder(), "warren-postgres-"); err != nil {
		return nil, err
	}
	if h.watch, err = watchFolder(h.dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(h.dir))
	}
	secret := filepath.Join(h.dir, "password")
	if err := errors.Join(os.WriteFile(secret, []byte(h.password+"\n"), 0o600), h.user.own(secret), h.user.own(h.dir)); err != nil {
		return nil, err
	}
	cmd := exec.Command(h.program("initdb"), "-D", h.template(), "-U", postgresUser, "--pwfile", secret, "--auth=scram-sha-256",
		"--encoding=UTF8", "--locale=C", "--wal-segsize=1", "--no-sync", "--no-instructions")
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Dir = h.dir
	h.user.prepare(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	h.shared = sync.OnceValues(func() (*PostgresServer, error) { return h.newServer(onLoopback(), nil, nil) })
	return h, nil
}

// template is the folder that initdb has filled.
func (h *postgresHome) template() string { return filepath.Join(h.dir, "template") }

// newServer copies the template and starts a server on it.
func (h *postgresHome) newServer(at placeOfServer, settings, env []string) (*PostgresServer, error) {
	h.made.Lock()
	h.count++
	s := &PostgresServer{home: h, at: at, dir: filepath.Join(h.dir, strconv.Itoa(h.count)), settings: settings, env: env}
	h.made.Unlock()
	if err := errors.Join(os.Mkdir(s.dir, 0o700), h.user.own(s.dir)); err != nil {
		return nil, err
	}
	if out, err := exec.Command("cp", "-a", h.template(), filepath.Join(s.dir, "data")).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("copy a new server's data: %w\n%s", err, out)
	}
	if err := s.letIn(); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		s.port = freePort()
		err := s.launch()
		if err != nil || s.answers(time.Now().Add(Patience)) {
			return s, err
		}
		if log := s.Log(); try == 20 || !strings.Contains(log, "Address already in use") {
			return nil, fmt.Errorf("PostgreSQL does not start: %s", log)
		}
	}
}

// letIn has the server ask clients of other hosts for the password, as it asks those of 127.0.0.1.
func (s *PostgresServer) letIn() error {
	if s.at.address == onLoopback().address {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(s.dir, "data", "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("host all all 10.0.0.0/8 scram-sha-256\n")
	return errors.Join(err, f.Close())
}

// freePort returns a port of 127.0.0.1 that nobody listens on. It is below those that the kernel gives to clients
// (net.ipv4.ip_local_port_range), so that a stopped server finds it free later.
func freePort() int {
	for {
		port := 10240 + mrand.IntN(32768-10240)
		if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			_ = l.Close()
			return port
		}
	}
}

// postgresPrograms finds the folder with PostgreSQL's programs: that of the postgres in PATH, or Debian's newest.
func postgresPrograms() (string, error) {
	if runtime.GOOS == "windows" {
		return "", fmt.Errorf("%w: tests do not start it on Windows", errNotInstalled)
	}
	var folders []string
	if found, err := exec.LookPath("postgres"); err == nil {
		folders = append(folders, filepath.Dir(found))
	}
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is valid
	slices.SortFunc(debian, func(a, b string) int { return majorOf(b) - majorOf(a) })
	for _, folder := range append(folders, debian...) {
		if !slices.ContainsFunc([]string{"postgres", "initdb", "psql"}, func(name string) bool {
			_, err := os.Stat(filepath.Join(folder, name))
			return errors.Is(err, fs.ErrNotExist)
		}) {
			return folder, nil
		}
	}
	return "", fmt.Errorf("%w: there is no postgres with initdb and psql in PATH or in /usr/lib/postgresql (deploy/install-test-tools.sh)",
		errNotInstalled)
}

// majorOf returns the version in /usr/lib/postgresql/15/bin, 0 for another name.
func majorOf(folder string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(folder))) //nolint:errcheck // 0 is last
	return n
}
