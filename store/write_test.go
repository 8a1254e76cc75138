package store

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"
)

// oneGroup runs functions in one transaction, in order, and returns their results. A first function holds the writer
// until all of them wait in the queue.
func oneGroup(t *testing.T, s *Store, fns ...func(*Queries) error) []error {
	t.Helper()
	sqliteOf(t, s).writer.time = time.Hour
	holding, release := make(chan struct{}), make(chan struct{})
	hold := sync.OnceFunc(func() { close(holding) })
	held := make(chan error, 1)
	go func() {
		held <- s.Write(context.Background(), func(*Queries) error { hold(); <-release; return nil })
	}()
	<-holding
	results := make([]error, len(fns))
	var done sync.WaitGroup
	for i, fn := range fns {
		done.Go(func() { results[i] = s.Write(context.Background(), fn) })
		for len(sqliteOf(t, s).writer.queue) <= i { // keeps their order
			runtime.Gosched()
		}
	}
	close(release)
	done.Wait()
	return append(results, <-held)
}

// inserts returns a function that adds a profile, and the profile's id.
func inserts(workspace string) (func(*Queries) error, string) {
	p := aProfile(workspace, "p")
	return func(q *Queries) error { _, err := q.InsertProfile(context.Background(), p); return err }, p.ID
}

func there(s *Store, id string) bool {
	_, err := s.Read().GetProfile(context.Background(), GetProfileParams{ID: id})
	return err == nil
}

func TestOneThatFailsIsUndoneAlone(t *testing.T) {
	s := openTest(t)
	ensure(t, s, "default")
	first, firstID := inserts("default")
	bad, badID := inserts("default")
	panics, panicsID := inserts("default")
	foreign, foreignID := inserts("unknown")
	last, lastID := inserts("default")
	mine := errors.New("mine")
	got := oneGroup(t, s, first,
		func(q *Queries) error { return errors.Join(bad(q), mine) },
		func(q *Queries) error { _ = panics(q); panic("oh") },
		foreign, last)
	for i, want := range []func(error) bool{
		func(err error) bool { return err == nil },
		func(err error) bool { return errors.Is(err, mine) },
		func(err error) bool {
			var p *PanicError
			return errors.As(err, &p) && p.Value == "oh" && len(p.Stack) > 0
		},
		func(err error) bool { return errors.Is(err, ErrReference) },
		func(err error) bool { return err == nil },
		func(err error) bool { return err == nil },
	} {
		if !want(got[i]) {
			t.Errorf("function %d: got %v", i, got[i])
		}
	}
	for id, want := range map[string]bool{firstID: true, badID: false, panicsID: false, foreignID: false, lastID: true} {
		if there(s, id) != want {
			t.Errorf("%s is there: %v, want %v", id, !want, want)
		}
	}
	assertCounters(t, s)
}

// The COMMIT fails after every function has succeeded. An earlier answer to a function would have been false.
func TestNobodyIsAnsweredBeforeTheCommit(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir, Options{})
	ensure(t, s, "default")
	first, firstID := inserts("default")
	last, lastID := inserts("default")
	for name, spoil := range map[string]func(*Queries) error{
		"commit refused": func(q *Queries) error { // COMMIT checks a deferred foreign key
			_, err1 := q.db.ExecContext(context.Background(), "PRAGMA defer_foreign_keys = ON")
			_, err2 := q.InsertProfile(context.Background(), aProfile("unknown", "p"))
			return errors.Join(err1, err2)
		},
		"transaction lost": func(q *Queries) error { // as SQLite does after some faults
			_, err := q.db.ExecContext(context.Background(), "ROLLBACK")
			return err
		},
		"transaction lost, with an error": func(q *Queries) error {
			_, err := q.db.ExecContext(context.Background(), "ROLLBACK")
			return errors.Join(err, errors.New("of the function"))
		},
		"goroutine ended": func(*Queries) error { runtime.Goexit(); return nil },
	} {
		fns := []func(*Queries) error{first, spoil}
		if name == "commit refused" {
			fns = append(fns, last)
		}
		for i, err := range oneGroup(t, s, fns...) {
			if err == nil {
				t.Errorf("%s: function %d of the group was told of success", name, i)
			}
		}
		if there(s, firstID) || there(s, lastID) {
			t.Errorf("%s: a row of the lost transaction is there", name)
		}
		holdLock(t, dir)()              // no transaction stays open: another program can write at once
		ensure(t, s, "heals-"+name[:3]) // the next write works
	}
	mustWrite(t, s, first)
	if !there(s, firstID) {
		t.Error("an acknowledged row is not there")
	}
}

func TestAGroupIsOneTransaction(t *testing.T) {
	s := openTest(t)
	ensure(t, s, "default")
	mustWrite(t, s, func(q *Queries) error {
		_, err := q.db.ExecContext(context.Background(), "CREATE TEMP TABLE groups (n INTEGER)")
		return err
	})
	type count struct{ inside, outside int64 }
	var first, second count
	look := func(seen *count) func(*Queries) error { // the group's functions see each other's writes before the COMMIT
		return func(q *Queries) error {
			return errors.Join(q.db.QueryRowContext(context.Background(), "SELECT count(*) FROM profiles").Scan(&seen.inside),
				databaseOf(s).QueryRow("SELECT count(*) FROM profiles").Scan(&seen.outside))
		}
	}
	one, _ := inserts("default")
	two, _ := inserts("default")
	for i, err := range oneGroup(t, s, one, look(&first), two, look(&second)) {
		if err != nil {
			t.Errorf("function %d: %v", i, err)
		}
	}
	if want := (count{1, 0}); first != want {
		t.Errorf("rows seen inside and outside the transaction: got %v, want %v", first, want)
	}
	if want := (count{2, 0}); second != want {
		t.Errorf("rows seen inside and outside the transaction: got %v, want %v", second, want)
	}
}

// A group ends at its length, however long it may last, so that its first callers do not wait for later ones.
func TestAGroupHasABound(t *testing.T) {
	s := openTest(t)
	ensure(t, s, "default")
	fns := make([]func(*Queries) error, groupLength+1)
	for i := range fns {
		fns[i], _ = inserts("default")
	}
	var before, after int64 // rows on disk when the last function of the first group runs, and when the first of the second runs
	count := func(n *int64) func(*Queries) error {
		return func(*Queries) error { return databaseOf(s).QueryRow("SELECT count(*) FROM profiles").Scan(n) }
	}
	fns[groupLength-2], fns[groupLength-1] = count(&before), count(&after) // one function holds the writer before them
	for i, err := range oneGroup(t, s, fns...) {
		if err != nil {
			t.Errorf("function %d: %v", i, err)
		}
	}
	if before != 0 || after != groupLength-2 {
		t.Errorf("rows on disk: %d at the end of the first group, %d after it; want 0 and %d", before, after, groupLength-2)
	}
}

func TestOneThatWaitsCanBeWithdrawn(t *testing.T) {
	s := openIn(t, newDatabase(t), Options{})
	holding, release := make(chan struct{}), make(chan struct{})
	hold := sync.OnceFunc(func() { close(holding) })
	held := make(chan error, 1)
	go func() {
		held <- s.Write(context.Background(), func(*Queries) error { hold(); <-release; return nil })
	}()
	<-holding
	ctx, cancel := context.WithCancel(context.Background())
	ran := false
	withdrawn := make(chan error, 1)
	go func() { withdrawn <- s.Write(ctx, func(*Queries) error { ran = true; return nil }) }()
	for len(sqliteOf(t, s).writer.queue) == 0 {
		runtime.Gosched()
	}
	cancel()
	if err := <-withdrawn; !errors.Is(err, context.Canceled) { // answered while the writer is still held
		t.Errorf("got %v, want context.Canceled", err)
	}
	close(release)
	if err := <-held; err != nil {
		t.Error(err)
	}
	if err := s.Write(ctx, func(*Queries) error { ran = true; return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that is over: got %v, want context.Canceled", err)
	}
	mustWrite(t, s, func(*Queries) error { return nil }) // all that waited have been skipped
	if ran {
		t.Error("a withdrawn function was run")
	}
}

// The end of the context does not stop a function that has begun: an interrupted statement would roll back the group.
func TestOneThatHasBegunRunsToItsEnd(t *testing.T) {
	s := openTest(t)
	ensure(t, s, "default")
	ctx, cancel := context.WithCancel(context.Background())
	p := aProfile("default", "p")
	err := s.Write(ctx, func(q *Queries) error {
		cancel()
		_, err := q.InsertProfile(ctx, p)
		return err
	})
	if err != nil || !there(s, p.ID) {
		t.Errorf("got %v, want nil and the row", err)
	}
}

func TestReadsAndTheirContext(t *testing.T) {
	s := openTest(t)
	ensure(t, s, "default")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Read().GetWorkspace(ctx, GetWorkspaceParams{ID: "default"}); err != nil {
		t.Errorf("Read: got %v, want nil: short statements ignore the context", err)
	}
	if _, err := s.long.GetWorkspace(ctx, GetWorkspaceParams{ID: "default"}); !errors.Is(err, context.Canceled) {
		t.Errorf("long: got %v, want context.Canceled", err)
	}
	if _, err := s.long.GetWorkspace(context.Background(), GetWorkspaceParams{ID: "default"}); err != nil {
		t.Errorf("long, after a cancelled one: %v", err)
	}
}

// With more callers than the queue has room for, some of them leaving, every caller gets a true answer.
func TestCrowd(t *testing.T) {
	s := openTest(t)
	ensure(t, s, "default")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var crowd sync.WaitGroup
	for i := range queueLength + 200 {
		mine := context.Background()
		if i%3 == 0 {
			mine = ctx
		}
		if i == 900 {
			cancel()
		}
		crowd.Go(func() {
			insert, id := inserts("default")
			err := s.Write(mine, insert)
			if there(s, id) != (err == nil) {
				t.Errorf("answer %v, row there: %v", err, there(s, id))
			}
			if err != nil && (mine != ctx || !errors.Is(err, context.Canceled)) {
				t.Error(err)
			}
		})
	}
	crowd.Wait()
	assertCounters(t, s)
}

func TestCloseAnswersEveryone(t *testing.T) {
	s, err := Open(context.Background(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	ensure(t, s, "default")
	var crowd sync.WaitGroup
	begun := make(chan struct{}, 200)
	for range 200 {
		crowd.Go(func() {
			insert, _ := inserts("default")
			begun <- struct{}{}
			if err := s.Write(context.Background(), insert); err != nil && !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		})
	}
	for range 100 {
		<-begun
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	crowd.Wait()
}

// A write after Close never runs and gets an error, even if the queue has room for it.
func TestNoWriteAfterClose(t *testing.T) {
	s, err := Open(context.Background(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	queued := 0
	for range 100 { // select picks at random between room in the queue and the closing
		before := len(sqliteOf(t, s).writer.queue)
		if err := s.Write(context.Background(), func(*Queries) error { t.Error("it ran"); return nil }); !errors.Is(err, ErrClosed) {
			t.Fatalf("got %v, want ErrClosed", err)
		}
		queued += len(sqliteOf(t, s).writer.queue) - before
	}
	if queued == 0 || queued == 100 {
		t.Errorf("%d of 100 got into the queue: one of two ways was not tried", queued)
	}
}
