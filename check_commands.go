package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"warren/pool"
)

// The command `warren proxy check`, with its progress bar.

type proxyCheck struct {
	apiClient
	ID        string `arg:"" optional:"" help:"The proxy's id, as proxy list shows it."`
	All       bool   `env:"WARREN_PROXY_ALL" help:"Check every proxy, or those of --tag or --workspace."`
	Tag       string `env:"WARREN_PROXY_TAG" help:"With --all: the proxies with this tag."`
	Workspace string `env:"WARREN_PROXY_WORKSPACE" help:"With --all: the proxies of this workspace."`
}

// Run checks one proxy or many. A dead proxy is a result, not a failure of the command.
func (p *proxyCheck) Run(ctx context.Context, c *console) error {
	if p.All == (p.ID != "") {
		return misusef("name a proxy's id, or --all")
	}
	if p.All {
		return p.many(ctx, c)
	}
	return p.one(ctx, c)
}

// many checks the proxies that the flags select, and shows each result as it comes.
func (p *proxyCheck) many(ctx context.Context, c *console) error {
	res, total, err := p.startChecks(ctx)
	if err != nil {
		return err
	}
	defer res.Body.Close() // the end of the connection cancels the checks that are left
	bar := newProgress(c.stderr, isTerminal(c.stderr), total)
	var dead []*pool.Check
	err = eachLine(res.Body, func(line []byte) error {
		one := new(pool.Check)
		if err := json.Unmarshal(line, one); err != nil {
			return fmt.Errorf("the server's line is no check: %w", err)
		}
		if !one.OK {
			dead = append(dead, one)
		}
		if p.JSON {
			if _, err := fmt.Fprintf(c.stdout, "%s\n", line); err != nil {
				return err
			}
		}
		bar.add(one.OK)
		return nil
	})
	bar.end()
	if !p.JSON {
		err = cmp.Or(err, p.showDead(context.WithoutCancel(ctx), c.stdout, dead))
	}
	return incomplete(ctx, err, bar.done, total)
}

// startChecks sends the request. total is the number of results to come, -1 if the server does not say.
func (p *proxyCheck) startChecks(ctx context.Context) (res *http.Response, total int, err error) {
	body, err := json.Marshal(struct {
		Tag       string `json:"tag,omitempty"`
		Workspace string `json:"workspaceId,omitempty"`
	}{p.Tag, p.Workspace})
	if err != nil {
		return nil, 0, err
	}
	res, err = p.open(ctx, http.MethodPost, "/proxies/check-all", "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	total, err = strconv.Atoi(res.Header.Get("X-Total-Count"))
	if err != nil {
		total = -1
	}
	return res, total, nil
}

// incomplete returns why fewer than total proxies were checked, nil when all were.
func incomplete(ctx context.Context, err error, done, total int) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("stopped after %d of %d proxies", done, total)
	case err != nil:
		return fmt.Errorf("the checks broke off after %d of %d: %w", done, total, err)
	case total >= 0 && done < total:
		return fmt.Errorf("the checks broke off after %d of %d", done, total)
	}
	return nil
}

func (p *proxyCheck) one(ctx context.Context, c *console) error {
	var out map[string]any
	var one pool.Check
	err := p.call(ctx, http.MethodPost, "/proxies/"+url.PathEscape(p.ID)+"/check", nil, &out)
	if err != nil {
		return err
	}
	if p.JSON {
		return printJSON(c.stdout, out)
	}
	text, err := json.Marshal(out)
	if err == nil {
		err = json.Unmarshal(text, &one)
	}
	switch {
	case err != nil:
		return err
	case one.OK:
		_, err = fmt.Fprintf(c.stdout, "alive  exit %s  country %s  %s\n", textOr(one.ExitIP), textOr(one.Country),
			inMilliseconds(*one.LatencyMs))
	case one.Error != nil:
		_, err = fmt.Fprintf(c.stdout, "dead  %s  %s  %s\n", one.Error.Stage, one.Error.Code, one.Error.Message)
	}
	return err
}

// inMilliseconds formats a time of whole milliseconds. None of what it formats takes no time at all.
func inMilliseconds(n int64) string {
	if n < 1 {
		return "< 1 ms"
	}
	return fmt.Sprintf("%d ms", n)
}

func textOr(s *string) string {
	if s == nil {
		return "unknown"
	}
	return *s
}

// eachLine reads lines until the end; blank ones are none.
func eachLine(r io.Reader, do func(line []byte) error) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 && (err == nil || errors.Is(err, io.EOF)) {
			if err := do(line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// showDead prints the dead proxies and why. It requests their addresses, which checks do not contain.
func (p *proxyCheck) showDead(ctx context.Context, w io.Writer, dead []*pool.Check) error {
	if len(dead) == 0 {
		return nil
	}
	addresses := map[string]string{}
	if all, err := p.everyProxy(ctx, url.Values{"status": {"dead"}}); err == nil { // without them the table is still of use
		for _, raw := range all {
			var one listedProxy
			if json.Unmarshal(raw, &one) == nil {
				addresses[one.ID] = one.address()
			}
		}
	}
	t := newTable(w, "ID\tADDRESS\tSTAGE\tCODE\tMESSAGE\n")
	for _, one := range dead {
		id, why := textOr(one.ID), cmp.Or(one.Error, &pool.CheckError{})
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", id, addresses[id], why.Stage, why.Code, why.Message)
	}
	return t.Flush()
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// progress shows the share that is done: a bar on a terminal, else a line for each tenth.
type progress struct {
	w                  io.Writer
	terminal           bool
	total, done, alive int // total -1: not known
	tenth              int
	now                func() time.Time
	began, drawn       time.Time
}

func newProgress(w io.Writer, terminal bool, total int) *progress {
	return &progress{w: w, terminal: terminal, total: total, now: time.Now, began: time.Now()}
}

// barEvery is the time between two drawings of the bar.
const barEvery = 100 * time.Millisecond

func (p *progress) add(ok bool) {
	p.done++
	if ok {
		p.alive++
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
	return fmt.Sprintf("%d%s checked, %d alive, %d dead, %.1f/s", p.done, of, p.alive, p.done-p.alive, rate)
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
	case p.terminal:
		p.draw()
		fmt.Fprintln(p.w)
	case p.total <= 0 || p.done < p.total:
		p.line()
	}
}
