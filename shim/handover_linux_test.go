package shim

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A connection that was handed over does not wake this process' poller, and can still be ended by it.
func TestHeldConnectionIsNotPolled(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	held, err := holdConn(conn)
	if err != nil {
		t.Fatal(err)
	}
	defer held.close()
	var info syscall.Stat_t
	if err := syscall.Fstat(held.fd, &info); err != nil {
		t.Fatal(err)
	}
	if polled(t, info.Ino) == 0 {
		t.Fatal("an open connection is not polled: this test sees nothing")
	}
	closeDescriptor(conn)
	if n := polled(t, info.Ino); n != 0 {
		t.Errorf("the connection is polled by %d descriptors", n)
	}
	held.shutdown()
	if _, err := client.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the client got %v, want the end", err)
	}
}

// polled counts the descriptors of a file that this process has registered with epoll (proc_pid_fdinfo(5)).
func polled(t *testing.T, inode uint64) (n int) {
	t.Helper()
	infos, _ := filepath.Glob("/proc/self/fdinfo/*")
	for _, path := range infos {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it was closed meanwhile
		}
		n += strings.Count(string(text), fmt.Sprintf(" ino:%x ", inode))
	}
	return n
}
