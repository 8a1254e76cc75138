//go:build unix

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"warren/demonet"
)

// Runs PostgreSQL and the servers, each as a process.

const (
	patience = 30 * time.Second // how long a process may take to start or to end
	nobody   = 65534            // the account of PostgreSQL, which does not run as root
)

// cluster is a PostgreSQL and three servers in one folder.
type cluster struct {
	dir, warren, programs string
	key                   string // of the administrator, at every server
	url                   string // of the database
	database              *exec.Cmd
	servers               []*server
}

// server is one `warren serve`.
type server struct {
	name    string
	address string // from its first start on
	cmd     *exec.Cmd
	log     string // the file with what it has written
}

func newCluster(dir, warren, programs string) *cluster {
	c := &cluster{dir: dir, warren: warren, programs: programs, key: rand.Text()}
	for _, name := range []string{"a", "b", "c"} {
		c.servers = append(c.servers, &server{name: name, log: filepath.Join(dir, name+".log")})
	}
	return c
}

// start starts PostgreSQL and the servers.
func (c *cluster) start(ctx context.Context) error {
	secret := make([]byte, 32)
	rand.Read(secret) //nolint:errcheck // it never fails
	if err := os.WriteFile(c.secretFile(), []byte(hex.EncodeToString(secret)+"\n"), 0o600); err != nil {
		return err
	}
	if err := c.startPostgres(ctx); err != nil {
		return fmt.Errorf("PostgreSQL: %w", err)
	}
	for _, s := range c.servers {
		if err := c.serve(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) secretFile() string { return filepath.Join(c.dir, "secret.key") }

// startPostgres makes a database in a folder of its own, and returns when it answers.
func (c *cluster) startPostgres(ctx context.Context) error {
	if err := os.Chmod(c.dir, 0o711); err != nil { //nolint:gosec // its account passes through, and sees nothing
		return err
	}
	home := filepath.Join(c.dir, "postgres")
	account, err := ordinary(home)
	if err != nil {
		return err
	}
	program := func(name string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, filepath.Join(c.programs, name), args...)
		cmd.Dir, cmd.Env = home, append(os.Environ(), "LC_ALL=C")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: account}
		return cmd
	}
	data := filepath.Join(home, "data")
	if out, err := program("initdb", "-D", data, "-U", "warren", "--auth=trust", "--encoding=UTF8", "--locale=C",
		"--no-sync").CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	c.url = "postgres://warren@127.0.0.1:" + port + "/postgres?sslmode=disable"
	c.database = program("postgres", "-D", data, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "port="+port,
		"-c", "dynamic_shared_memory_type=mmap")
	c.database.Cancel = func() error { return nil } // end ends it, after the servers
	said := new(bytes.Buffer)
	c.database.Stdout, c.database.Stderr = said, said
	if err := c.database.Start(); err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return waitFor(limit, "PostgreSQL answers", func() error { return program("psql", "-c", "SELECT 1", c.url).Run() })
}

// ordinary makes a folder, and returns the account that has it: nil for the own one, which is not root's.
func ordinary(dir string) (*syscall.Credential, error) {
	if err := os.Mkdir(dir, 0o700); err != nil || os.Geteuid() != 0 {
		return nil, err
	}
	return &syscall.Credential{Uid: nobody, Gid: nobody}, os.Chown(dir, nobody, nobody)
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// serve starts a server, at the address that it had before, and returns when it listens.
func (c *cluster) serve(ctx context.Context, s *server) error {
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	listen := strings.TrimPrefix(cmp.Or(s.address, "127.0.0.1:0"), "http://")
	s.cmd = exec.Command(c.warren, "serve", "--node", s.name, "--listen", listen, "--data", filepath.Join(c.dir, s.name),
		"--headless=always", "--check-url", "http://"+demonet.Host+"/ip")
	s.cmd.Env = append(os.Environ(), "WARREN_STORE="+c.url, "WARREN_SECRET_KEY_FILE="+c.secretFile(), "WARREN_API_KEY="+c.key)
	s.cmd.Stderr = log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the demo, which ends it
	said, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	late := time.AfterFunc(2*patience, func() { s.cmd.Process.Kill() }) //nolint:errcheck // it may have ended
	defer late.Stop()
	defer context.AfterFunc(ctx, func() { s.cmd.Process.Kill() })() //nolint:errcheck // as above
	lines := bufio.NewReader(said)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("server %s does not start: %w", s.name, errors.Join(err, s.cmd.Wait()))
		}
		if _, address, ok := strings.Cut(strings.TrimSpace(line), "warren: listening on "); ok {
			s.address = address
			go io.Copy(io.Discard, lines) //nolint:errcheck // until it ends
			return nil
		}
	}
}

// kill kills a server. Its browsers go on.
func (s *server) kill() error {
	if err := s.cmd.Process.Kill(); err != nil {
		return err
	}
	s.cmd.Wait() //nolint:errcheck // it was killed
	return nil
}

// end ends the servers, each with its browsers, and then PostgreSQL.
func (c *cluster) end() {
	ended := make(chan struct{})
	for _, s := range c.servers {
		go func() {
			endProcess(s.cmd, syscall.SIGTERM)
			ended <- struct{}{}
		}()
	}
	for range c.servers {
		<-ended
	}
	endProcess(c.database, syscall.SIGINT)
}

// endProcess asks a process to end, and kills it if it does not. cmd may be nil, or have ended.
func endProcess(cmd *exec.Cmd, how syscall.Signal) {
	if cmd == nil || cmd.Process == nil || cmd.ProcessState != nil {
		return
	}
	cmd.Process.Signal(how)                                             //nolint:errcheck // it may have ended
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // the same
	defer late.Stop()
	cmd.Wait() //nolint:errcheck // how it ended does not matter
}

// logs returns the last lines that each server has written, as an error.
func (c *cluster) logs() error {
	var all []error
	for _, s := range c.servers {
		text, err := os.ReadFile(s.log)
		if err != nil {
			continue // it was not started
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		all = append(all, fmt.Errorf("server %s:\n%s", s.name, strings.Join(lines[max(0, len(lines)-10):], "\n")))
	}
	return errors.Join(all...)
}

// postgresPrograms returns the folder of PostgreSQL's programs: that of the postgres in PATH, or Debian's; "": there is none.
func postgresPrograms() string {
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is valid
	if found, err := exec.LookPath("postgres"); err == nil {
		folders = append(folders, filepath.Dir(found))
	}
	slices.Reverse(folders)
	for _, folder := range folders {
		if !slices.ContainsFunc([]string{"initdb", "postgres", "psql"}, func(name string) bool {
			_, err := os.Stat(filepath.Join(folder, name))
			return err != nil
		}) {
			return folder
		}
	}
	return ""
}

// waitFor tries until there is no error, or ctx ends: then that is the error, with the last one.
func waitFor(ctx context.Context, what string, try func() error) error {
	pause := time.NewTicker(100 * time.Millisecond)
	defer pause.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return fmt.Errorf("until %s: %w: %w", what, ctx.Err(), err)
		}
	}
}
