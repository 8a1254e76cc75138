//go:build unix

package testnet

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Each test has a database of its own, which the end of the test drops.
func TestPostgresDatabases(t *testing.T) {
	t.Parallel()
	var first, second string
	s := startedShared(t)
	t.Run("used", func(t *testing.T) {
		first, second = Postgres(t), Postgres(t)
		for _, url := range []string{first, second} {
			if got := query(t, url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"); got != "0" {
				t.Errorf("a new database has %s tables", got)
			}
			query(t, url, "CREATE TABLE mine (id TEXT)") // fails in a database that has it
		}
	})
	left, err := s.run(maintenance, "SELECT datname FROM pg_database")
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{first, second} {
		if strings.Contains(left, databaseOf(url)) {
			t.Errorf("%s is still there after its test", url)
		}
	}
	if _, err := s.run(maintenance, "SELECT 1 FROM nothing"); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("a statement that fails: %v", err)
	}
	wrong := strings.Replace(s.URL(maintenance), s.home.password, "guess", 1)
	if out, err := exec.Command(s.home.program("psql"), "-X", "-c", "SELECT 1", wrong).CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "password") {
		t.Errorf("a wrong password: %v %s", err, out)
	}
}

func databaseOf(url string) string {
	_, name, _ := strings.Cut(url, "127.0.0.1:")
	_, name, _ = strings.Cut(name, "/")
	name, _, _ = strings.Cut(name, "?")
	return name
}

// query runs a statement in the database of a URL.
func query(t *testing.T, url, statement string) string {
	t.Helper()
	out, err := startedShared(t).run(databaseOf(url), statement)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A server of a test can be stopped, killed and started again with its data.
func TestOwnPostgres(t *testing.T) {
	t.Parallel()
	s := OwnPostgres(t, "max_connections=7")
	if got := s.Exec("SHOW max_connections"); got != "7" {
		t.Errorf("max_connections is %s", got)
	}
	s.Exec("CREATE TABLE kept (n BIGINT)")
	busy := make(chan error, 1) // a statement that no kill of the first process alone would end
	url := s.NewDatabase()
	for i, end := range []func(){func() { s.Stop(PostgresFast) }, func() { s.Stop(PostgresImmediate) }, s.Kill} {
		s.Exec("INSERT INTO kept VALUES (1)")
		go func() {
			_, err := s.run(maintenance, "SELECT count(*) FROM generate_series(1, 1000000000000)")
			busy <- err
		}()
		Eventually(t, "the statement runs", func() bool {
			return s.Exec("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT count(*) FROM generate_series%'") == "1"
		})
		end()
		if err := <-busy; err == nil {
			t.Errorf("end %d: a statement goes on", i)
		}
		if _, err := s.run(maintenance, "SELECT 1"); err == nil {
			t.Fatalf("end %d: the server still answers", i)
		}
		s.Start()
		if got := s.Exec("SELECT count(*) FROM kept"); i == 0 && got != "1" {
			t.Errorf("%s rows after a restart", got)
		}
	}
	if s.URL(databaseOf(url)) != url {
		t.Error("the address is another one after a restart")
	}
	if !strings.Contains(s.Log(), "received fast shutdown request") {
		t.Errorf("the log says nothing of the stop:\n%s", s.Log())
	}
}

// envChild makes TestPostgresEndsWithItsTests the process that is killed.
const envChild = "WARREN_TEST_POSTGRES_CHILD"

// The shared server, and a server of one test, end with the test process when that is killed, and nothing of them stays.
func TestPostgresEndsWithItsTests(t *testing.T) {
	if os.Getenv(envChild) != "" {
		shared, own := startedShared(t), OwnPostgres(t)
		fmt.Println("servers", shared.PID(), own.PID(), shared.home.dir)
		io.Copy(io.Discard, os.Stdin)
		return
	}
	t.Parallel()
	postgresHomeOf(t) // skips
	cmd := exec.Command(os.Args[0], "-test.run=^TestPostgresEndsWithItsTests$", "-test.v")
	cmd.Env = append(os.Environ(), envChild+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var shared, own int
	var dir, said string
	for lines := bufio.NewScanner(out); dir == "" && lines.Scan(); said += lines.Text() + "\n" {
		fmt.Sscanf(lines.Text(), "servers %d %d %s", &shared, &own, &dir)
	}
	if dir == "" || !alive(shared) || !alive(own) {
		t.Fatalf("the servers %d and %d do not run:\n%s", shared, own, said)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the child was not killed")
	}
	Eventually(t, "the servers are gone", func() bool { return !alive(shared) && !alive(own) })
	Eventually(t, "the folder is gone", func() bool {
		left, _ := filepath.Glob(dir)
		return len(left) == 0
	})
}

// alive reports whether there is a process, which no parent has to wait for any more.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == nil
	}
	return !strings.Contains(string(stat), ") Z ")
}
