package tests

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// writeCertificate writes a certificate with the serial number, and its key.
func writeCertificate(t *testing.T, file, key string, serial int64) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	if err != nil {
		t.Fatal(err)
	}
}

// openTerminal returns both ends of a pseudo-terminal (pty(7)).
func openTerminal(t *testing.T) (master, terminal *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("needs terminals: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Skipf("needs terminals: %v", err)
	}
	terminal, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("needs terminals: %v", err)
	}
	t.Cleanup(func() { terminal.Close() })
	return master, terminal
}

// A service's SIGHUP has the TLS certificate read anew, and leaves it as it was where that cannot be read. The server serves on.
func TestHangUpReadsTheCertificate(t *testing.T) {
	t.Parallel()
	g := newTestbed(t)
	file, key := filepath.Join(g.dir, "tls.pem"), filepath.Join(g.dir, "tls.key")
	writeCertificate(t, file, key, 1)
	g.under = func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} } // which has no terminal
	s := g.serve("--tls-cert", file, "--tls-key", key, "--browser", "/nowhere/chromium")
	serial := func() int64 {
		t.Helper()
		c, err := tls.Dial("tcp", strings.TrimPrefix(s.base, "https://"),
			&tls.Config{InsecureSkipVerify: true}) //nolint:gosec // its number is what is asked
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	hangUp := func(word string, times int) {
		t.Helper()
		if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the log says "+word, enough, func() bool { return strings.Count(s.log.String(), word) == times })
	}
	if got := serial(); got != 1 {
		t.Fatalf("certificate %d", got)
	}
	writeCertificate(t, file, key, 2)
	hangUp("was read anew", 1)
	if got := serial(); got != 2 {
		t.Errorf("certificate %d after SIGHUP, want 2", got)
	}
	if err := os.WriteFile(file, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	hangUp("was not read anew", 1)
	if got := serial(); got != 2 {
		t.Errorf("certificate %d after one that cannot be read, want 2", got)
	}
	if code := s.terminate(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A server in a terminal that is closed stops in order, as for SIGTERM.
func TestClosedTerminalStopsInOrder(t *testing.T) {
	t.Parallel()
	master, terminal := openTerminal(t)
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP) // under nohup(1) the tests, and so the server, would ignore it
	defer signal.Stop(heard)
	g := newTestbed(t)
	g.under = func(cmd *exec.Cmd) {
		cmd.Stdin, cmd.SysProcAttr = terminal, &syscall.SysProcAttr{Setsid: true, Setctty: true}
	}
	s := g.serve("--browser", "/nowhere/chromium")
	if err := errors.Join(terminal.Close(), master.Close()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.exited:
	case <-time.After(enough):
		t.Fatal("the server goes on")
	}
	if s.code != 0 || !strings.Contains(s.log.String(), "stopping") {
		t.Errorf("exit code %d", s.code)
	}
}
