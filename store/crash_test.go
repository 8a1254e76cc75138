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
)

// writeUntilKilled writes from several goroutines and prints each id when Write has acknowledged it.
func writeUntilKilled(dir string) {
	ctx := context.Background()
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		fmt.Println("error:", err)
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

// killAfter runs the child, kills it after some acknowledgements, and returns all of them.
func killAfter(t *testing.T, dir string, acknowledgements int, early bool) []string {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), crashDir+"="+dir)
	if early {
		child.Env = append(child.Env, crashEarly+"="+strconv.Itoa(acknowledgements))
	}
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
	if err := s.readers.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
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
		ids := killAfter(t, dir, 1+rand.IntN(200), early)
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
