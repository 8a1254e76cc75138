package runs

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"warren/testnet"
)

// TestOrphanThatDoesNotAnswer: a run without a record breaks every connection off, as a process does that is being killed. As soon as it is
// gone, its files are removed, by the same server.
func TestOrphanThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	name := filepath.Join(r.dir, "run", Name("orphan"))
	process, err := net.Listen("unix", name+".sock")
	if err != nil {
		t.Fatal(err)
	}
	process.(*net.UnixListener).SetUnlinkOnClose(false) // a kill leaves it
	go func() {
		for {
			conn, err := process.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	if err := os.WriteFile(name+".log", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Adopt(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := func() int {
		entries, err := os.ReadDir(filepath.Join(r.dir, "run"))
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	if left() != 2 {
		t.Fatalf("%d files are there while the process may live", left())
	}
	process.Close()
	testnet.Eventually(t, "the files of the run go", func() bool { return left() == 0 })
}
