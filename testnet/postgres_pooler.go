package testnet

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Pooler starts a PgBouncer before the server and returns its "host:port". mode is session or transaction (pgbouncer(5), pool_mode).
// ignored are settings of connections that it leaves out. The end of the test ends it. Without PgBouncer the test is skipped.
func (s *PostgresServer) Pooler(mode string, ignored ...string) string {
	s.t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program = "/usr/sbin/pgbouncer"; !exists(program) {
			s.t.Skip("PgBouncer is not installed")
		}
	}
	port := freePort()
	dir := filepath.Join(s.dir, "pooler-"+mode)
	settings := filepath.Join(dir, "settings")
	users := filepath.Join(dir, "users")
	text := fmt.Sprintf("[databases]\n* = host=127.0.0.1 port=%d\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\n"+
		"unix_socket_dir =\nauth_type = trust\nauth_file = %s\npool_mode = %s\nignore_startup_parameters = %s\n"+
		"max_client_conn = 200\ndefault_pool_size = 40\nlogfile = %s\n", s.port, port, users, mode, strings.Join(ignored, ","),
		filepath.Join(dir, "log"))
	must := func(err error) {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	must(os.Mkdir(dir, 0o700))
	must(s.home.user.own(dir))
	for file, text := range map[string]string{settings: text, users: fmt.Sprintf("%q %q\n", postgresUser, s.home.password)} {
		must(os.WriteFile(file, []byte(text), 0o600))
		must(s.home.user.own(file))
	}
	cmd := exec.Command(program, "-q", settings)
	cmd.Dir = dir
	s.home.user.prepare(cmd)
	began, ended := make(chan error), make(chan struct{})
	go keepServer(cmd, (*exec.Cmd).Start, began, ended)
	must(<-began)
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	Eventually(s.t, "PgBouncer listens", func() bool {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		return c.Close() == nil
	})
	return address
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
