package testnet

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Standby starts a server that follows this one asynchronously, with a copy of all its databases. It only reads until Promote. Without
// PostgreSQL's pg_basebackup the test is skipped.
func (s *PostgresServer) Standby() *PostgresServer {
	s.t.Helper()
	program := s.home.program("pg_basebackup")
	if _, err := os.Stat(program); err != nil {
		s.t.Skip("PostgreSQL's pg_basebackup is not installed")
	}
	s.home.made.Lock()
	s.home.count++
	dir := filepath.Join(s.home.dir, strconv.Itoa(s.home.count))
	s.home.made.Unlock()
	b := &PostgresServer{t: s.t, home: s.home, at: s.at, dir: dir, port: freePort(), settings: s.settings, env: s.env}
	if err := errors.Join(os.Mkdir(dir, 0o700), s.home.user.own(dir)); err != nil {
		s.t.Fatal(err)
	}
	from := fmt.Sprintf("host=%s port=%d user=%s password=%s", s.at.address, s.port, postgresUser, s.home.password)
	cmd := exec.Command(program, "-D", filepath.Join(dir, "data"), "-d", from, "-R", "-X", "stream", "-c", "fast", "--no-sync")
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Dir = dir
	s.home.user.prepare(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	b.Start()
	s.t.Cleanup(func() {
		if err := errors.Join(b.signal(PostgresImmediate), os.RemoveAll(dir)); err != nil {
			s.t.Errorf("remove the test's standby: %v", err)
		}
	})
	return b
}

// AwaitStandby waits until a standby has all that was committed.
func (s *PostgresServer) AwaitStandby(b *PostgresServer) {
	s.t.Helper()
	at := s.Exec("SELECT pg_current_wal_lsn()")
	Eventually(s.t, "the standby has everything", func() bool {
		return b.Exec("SELECT coalesce(pg_last_wal_replay_lsn() >= '"+at+"', false)") == "t"
	})
}

// Forsake has a standby receive nothing more, so that it lacks what is committed from now on.
func (s *PostgresServer) Forsake() {
	s.t.Helper()
	s.Exec("ALTER SYSTEM SET primary_conninfo = ''")
	s.Exec("SELECT pg_reload_conf()")
	Eventually(s.t, "the standby receives nothing", func() bool { return s.Exec("SELECT count(*) FROM pg_stat_wal_receiver") == "0" })
}

// Promote makes a standby a server of its own.
func (s *PostgresServer) Promote() {
	s.t.Helper()
	if done := s.Exec("SELECT pg_promote()"); done != "t" {
		s.t.Fatalf("pg_promote: %s", done)
	}
}

// Address returns the server's "host:port".
func (s *PostgresServer) Address() string {
	return net.JoinHostPort(s.at.address, strconv.Itoa(s.port))
}

// NewDatabaseIn makes an empty database whose files lie in a folder, such as a disk of its own, and returns its URL.
func (s *PostgresServer) NewDatabaseIn(folder string) string {
	s.t.Helper()
	if err := s.home.user.own(folder); err != nil {
		s.t.Fatal(err)
	}
	name := s.newDatabase(s.t)
	s.Exec("CREATE TABLESPACE " + name + " LOCATION '" + strings.ReplaceAll(folder, "'", "''") + "'")
	s.Exec("ALTER DATABASE " + name + " SET TABLESPACE " + name)
	return s.URL(name)
}
