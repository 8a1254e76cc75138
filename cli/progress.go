package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// progress shows the share that is done, on standard error: a bar on a terminal, else a line for each tenth.
type progress struct {
	w               io.Writer
	terminal        bool
	total, done, ok int           // total -1: not known
	quiet           time.Duration // what takes no longer shows nothing
	verb            string        // "checked"
	good, bad       string        // "alive", "dead"

	tenth        int
	now          func() time.Time
	began, drawn time.Time
}

func newProgress(w io.Writer, terminal bool, total int) *progress {
	return &progress{w: w, terminal: terminal, total: total, verb: "done", good: "well", bad: "failed", now: time.Now, began: time.Now()}
}

// barEvery is the time between two drawings of the bar.
const barEvery = 100 * time.Millisecond

func (p *progress) add(ok bool) {
	if ok {
		p.set(p.done+1, p.ok+1)
	} else {
		p.set(p.done+1, p.ok)
	}
}

// set says how many are done, and how many of them went well.
func (p *progress) set(done, ok int) {
	p.done, p.ok = done, ok
	if p.now().Sub(p.began) < p.quiet {
		return
	}
	switch {
	case p.terminal && p.now().Sub(p.drawn) >= barEvery:
		p.draw()
	case !p.terminal && p.total > 0 && p.done*10/p.total > p.tenth:
		p.tenth = p.done * 10 / p.total
		p.line()
	}
}

func (p *progress) counts() string {
	of := ""
	if p.total >= 0 {
		of = fmt.Sprintf("/%d", p.total)
	}
	rate := 0.0
	if took := p.now().Sub(p.began).Seconds(); took > 0 {
		rate = float64(p.done) / took
	}
	return fmt.Sprintf("%d%s %s, %d %s, %d %s, %.1f/s", p.done, of, p.verb, p.ok, p.good, p.done-p.ok, p.bad, rate)
}

// draw writes the bar over the last one.
func (p *progress) draw() {
	const width = 30
	filled := 0
	if p.total > 0 {
		filled = min(width, p.done*width/p.total)
	}
	p.drawn = p.now()
	fmt.Fprintf(p.w, "\r\x1b[K[%s%s] %s", strings.Repeat("#", filled), strings.Repeat("-", width-filled), p.counts())
}

func (p *progress) line() { fmt.Fprintln(p.w, p.counts()) }

// end draws the last state.
func (p *progress) end() {
	switch {
	case p.now().Sub(p.began) < p.quiet && p.drawn.IsZero():
	case p.terminal:
		p.draw()
		fmt.Fprintln(p.w)
	case p.total <= 0 || p.done < p.total:
		p.line()
	}
}

// waiting says what is being waited for, if that takes more than a second, on a terminal. stop takes the line away.
func (s *session) waiting(what string) (stop func()) {
	if !terminal(s.err) {
		return func() {}
	}
	began, done := time.Now(), make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		every := time.NewTicker(time.Second)
		defer every.Stop()
		for wrote := false; ; wrote = true {
			select {
			case now := <-every.C:
				fmt.Fprintf(s.err, "\r\x1b[K%s … %d s", what, now.Sub(began)/time.Second)
			case <-done:
				if wrote {
					fmt.Fprint(s.err, "\r\x1b[K")
				}
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		close(done)
		writer.Wait()
	})
}
