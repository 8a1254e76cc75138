package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"warren/snapshots"
)

// How far a backup, a restore or a copy of the database is, on standard error.

const (
	quietFor  = time.Second      // what takes no longer says nothing
	lineEvery = 10 * time.Second // between lines, where there is no terminal to write one again and again
)

// reporter writes how far something is: on a terminal one line, which it writes anew, else a line from time to time.
type reporter struct {
	w            io.Writer
	terminal     bool
	say          func() string
	began, wrote time.Time // wrote is zero before the first line
}

// report writes the progress of a backup until stop is called.
func report(w io.Writer, m *snapshots.Meter) (stop func()) {
	return reportAs(w, func() string { return describe(m.Now()) })
}

// reportAs writes what say returns until stop is called. stop waits, so that nothing is written after it.
func reportAs(w io.Writer, say func() string) (stop func()) {
	r := &reporter{w: w, terminal: isTerminal(w), say: say, began: time.Now()}
	ticks, done := time.NewTicker(barEvery), make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() { r.run(ticks.C, done) })
	return sync.OnceFunc(func() {
		ticks.Stop()
		close(done)
		writer.Wait()
	})
}

func (r *reporter) run(ticks <-chan time.Time, done <-chan struct{}) {
	for {
		select {
		case now := <-ticks:
			r.tick(now)
		case <-done:
			r.end()
			return
		}
	}
}

// tick writes if it is time to.
func (r *reporter) tick(now time.Time) {
	switch {
	case now.Sub(r.began) < quietFor:
	case r.terminal:
		fmt.Fprintf(r.w, "\r\x1b[K%s", r.say())
		r.wrote = now
	case r.wrote.IsZero() || now.Sub(r.wrote) >= lineEvery:
		fmt.Fprintln(r.w, r.say())
		r.wrote = now
	}
}

// end takes the line from the terminal, so that what is printed next begins a line.
func (r *reporter) end() {
	if r.terminal && !r.wrote.IsZero() {
		fmt.Fprint(r.w, "\r\x1b[K")
	}
}

// describe says how far something is.
func describe(p snapshots.Progress) string {
	of := ""
	if p.Total > 0 {
		of = fmt.Sprintf(" of %d", p.Total)
	}
	return fmt.Sprintf("%s: %d%s objects, %s", p.Step, p.Done, of, size(p.Bytes))
}
