package store

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// The test binary runs itself as the child that is killed. This variable names its data folder.
const (
	crashDir = "WARREN_TEST_CRASH_DIR"
	// Makes the child acknowledge a write before it is on disk, and after so many writes wait before the COMMIT.
	crashEarly = "WARREN_TEST_CRASH_EARLY"
	// Makes the child write manyAtOnce profiles in each of so many writes, the last of which waits before the COMMIT.
	crashMany = "WARREN_TEST_CRASH_MANY"
)

// writeUntilKilled writes from several goroutines and prints each id when Write has acknowledged it.
func writeUntilKilled(dir string) {
	ctx := context.Background()
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	if writes, err := strconv.Atoi(os.Getenv(crashMany)); err == nil {
		fmt.Println("error:", writeMany(ctx, s, writes))
		os.Exit(1)
	}
	early, _ := strconv.Atoi(os.Getenv(crashEarly))
	said := 0 // used by the writer's goroutine
	failed := make(chan error)
	for range 4 {
		go func() {
			for {
				p := aProfile("default", "x")
				err := s.Write(ctx, func(q *Queries) error {
					_, err := q.InsertProfile(ctx, p)
					if early > 0 {
						fmt.Println(p.ID)
						if said++; said == early {
							_, _ = os.Stdin.Read(make([]byte, 1)) // blocks for ever: nothing is written to stdin
						}
					}
					return err
				})
				if err != nil {
					failed <- err
				}
				if early == 0 {
					fmt.Println(p.ID)
				}
			}
		}()
	}
	fmt.Println("error:", <-failed)
	os.Exit(1)
}

// manyAtOnce is how many profiles one write of TestKillLeavesNoPart makes. More than SQLite's cache holds: pages reach
// the disk before the COMMIT.
const manyAtOnce = 3000

// writeMany makes many profiles in one write after another, and prints a name that they share when Write has
// acknowledged them. The last write prints it before its COMMIT, and waits there to be killed.
func writeMany(ctx context.Context, s *Store, writes int) error {
	settings := sharedSettings("default")
	for n := 1; ; n++ {
		name, rows := newID(), make([]NewProfile, manyAtOnce)
		for i, id := range NewIDs(manyAtOnce) {
			rows[i] = NewProfile{ID: id, Name: name}
		}
		err := s.Write(ctx, func(q *Queries) error {
			err := q.AddProfiles(ctx, settings, rows)
			if n == writes && err == nil {
				fmt.Println(name)
				_, _ = os.Stdin.Read(make([]byte, 1)) // blocks for ever: nothing is written to stdin
			}
			return err
		})
		if err != nil {
			return err
		}
		fmt.Println(name)
	}
}

// killAfter runs the child, kills it after some acknowledgements, and returns all of them.
func killAfter(t *testing.T, dir string, acknowledgements int, env ...string) []string {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(append(os.Environ(), crashDir+"="+dir), env...)
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var ids []string
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF { // an incomplete line is no acknowledgement
			break
		}
		if err != nil || len(line) != 37 {
			t.Errorf("child: %q, %v", line, err)
			break
		}
		ids = append(ids, line[:36])
		if len(ids) == acknowledgements {
			if err := child.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	_ = child.Process.Kill()
	_ = child.Wait() // "signal: killed"
	return ids
}

// missing counts the ids that are not in the database, and checks that the database is intact.
func missing(t *testing.T, dir string, ids []string) int {
	t.Helper()
	s, err := Open(context.Background(), dir, Options{})
	if err != nil {
		t.Fatalf("after the kill: %v", err)
	}
	defer s.Close()
	lost := 0
	for _, id := range ids {
		if _, err := s.Read().GetProfile(context.Background(), GetProfileParams{ID: id}); err != nil {
			lost++
		}
	}
	var verdict string
	if err := sqliteOf(t, s).readers.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Fatalf("integrity: %s, %v", verdict, err)
	}
	assertCounters(t, s)
	return lost
}

func crashCycles(t *testing.T, cycles int, early bool) (acknowledged, lost int) {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(context.Background(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ensure(t, s, "default")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range cycles {
		n, env := 1+rand.IntN(200), []string(nil)
		if early {
			env = []string{crashEarly + "=" + strconv.Itoa(n)}
		}
		ids := killAfter(t, dir, n, env...)
		acknowledged += len(ids)
		lost += missing(t, dir, ids)
	}
	return acknowledged, lost
}

func TestKillLosesNothingAcknowledged(t *testing.T) {
	const lanes = 4 // in parallel: a cycle mostly waits for the disk
	cycles := often(25)
	for lane := range lanes {
		t.Run(fmt.Sprint("lane ", lane), func(t *testing.T) {
			t.Parallel()
			acknowledged, lost := crashCycles(t, cycles, false)
			t.Logf("%d kills, %d writes acknowledged, %d lost", cycles, acknowledged, lost)
			if lost > 0 || acknowledged < cycles {
				t.Errorf("%d of %d acknowledged writes are lost, want 0", lost, acknowledged)
			}
		})
	}
}

// The same test detects a child that acknowledges before the COMMIT.
func TestKillTestHasTeeth(t *testing.T) {
	cycles := often(30)
	if _, lost := crashCycles(t, cycles, true); lost < cycles {
		t.Errorf("a child that acknowledges too early lost %d writes in %d kills: the test sees less than there is", lost, cycles)
	}
}

// TestKillLeavesNoPart: a process that is killed while it makes many profiles in one write leaves all of them or none.
func TestKillLeavesNoPart(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(context.Background(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ensure(t, s, "default")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range often(6) {
		writes := 1 + rand.IntN(3)
		named := killAfter(t, dir, writes, crashMany+"="+strconv.Itoa(writes))
		s, err := Open(context.Background(), dir, Options{})
		if err != nil {
			t.Fatalf("after the kill: %v", err)
		}
		for i, name := range named {
			want := map[bool]int{true: manyAtOnce}[i < writes-1]
			var n int
			err := sqliteOf(t, s).readers.QueryRow("SELECT count(*) FROM profiles WHERE name = ?", name).Scan(&n)
			if err != nil || n != want {
				t.Errorf("write %d of %d: %d profiles are there, want %d (%v)", i+1, writes, n, want, err)
			}
		}
		var parts int
		const ofParts = "SELECT count(*) FROM (SELECT 1 FROM profiles GROUP BY name HAVING count(*) <> ?)"
		if err := sqliteOf(t, s).readers.QueryRow(ofParts, manyAtOnce).Scan(&parts); err != nil || parts > 0 {
			t.Errorf("%d writes are there in part (%v)", parts, err)
		}
		assertCounters(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
