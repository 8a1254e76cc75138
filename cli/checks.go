package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The commands `warren proxy check`, with its progress bar, and those that follow a job.

// check is the result of checking a proxy.
type check struct {
	ID        string `json:"id"`
	OK        bool   `json:"ok"`
	ExitIP    string `json:"exitIp"`
	Country   string `json:"country"`
	LatencyMs int64  `json:"latencyMs"`
	Error     *struct {
		Stage   string `json:"stage"`
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// errDead is the failure of --fail: what was checked is dead.
var errDead = errors.New("a proxy is dead")

// checkProxies checks one proxy or many. A dead proxy is a result, and with --fail a failure of the command.
func checkProxies(s *session) error {
	if s.yes("all") == (len(s.args["proxy"]) > 0) {
		return misusef("name proxies, or --all")
	}
	if s.yes("all") {
		return s.checkMany(map[string]any{"tag": s.text("tag"), "workspaceId": s.text("workspace")})
	}
	ids, err := s.resolveAll("proxy", s.args["proxy"], "")
	if err != nil {
		return err
	}
	if len(ids) > 1 {
		return s.checkMany(map[string]any{"ids": ids})
	}
	stop := s.waiting("checking")
	answer, err := s.client.read(s.ctx, request{method: http.MethodPost, path: "/proxies/" + url.PathEscape(ids[0]) + "/check",
		kind: "application/json", body: strings.NewReader("{}")})
	stop()
	if err != nil {
		return err
	}
	return s.showCheck(answer)
}

// checkUnsaved checks a proxy that is not saved.
func checkUnsaved(s *session) error {
	in, err := s.body()
	if err != nil {
		return err
	}
	stop := s.waiting("checking")
	answer, err := s.client.read(s.ctx, request{method: http.MethodPost, path: "/proxies/check", kind: "application/json",
		body: bytes.NewReader(in)})
	stop()
	if err != nil {
		return err
	}
	return s.showCheck(answer)
}

func (s *session) showCheck(answer jsontext.Value) error {
	var c check
	if err := json.Unmarshal(answer, &c); err != nil {
		return err
	}
	var err error
	switch {
	case !s.tabular():
		err = s.printObject(answer)
	case c.OK:
		err = s.say("alive  exit %s  country %s  %s", cmp.Or(c.ExitIP, "unknown"), cmp.Or(c.Country, "unknown"), milliseconds(c.LatencyMs))
	case c.Error != nil:
		err = s.say("dead  %s  %s  %s", c.Error.Stage, c.Error.Code, c.Error.Message)
	}
	if err == nil && !c.OK && s.yes("fail") {
		err = errDead
	}
	return err
}

// checkMany checks the proxies that in selects, and shows each result as it comes.
func (s *session) checkMany(in map[string]any) error {
	for name, v := range in {
		if v == "" {
			delete(in, name)
		}
	}
	body, err := json.Marshal(in, json.Deterministic(true))
	if err != nil {
		return err
	}
	res, err := s.client.open(s.ctx, request{method: http.MethodPost, path: "/proxies/check-all", kind: "application/json",
		body: bytes.NewReader(body)})
	if err != nil {
		return err
	}
	defer res.Body.Close() // the end of the connection cancels the checks that are left
	total, err := strconv.Atoi(res.Header.Get("X-Total-Count"))
	if err != nil {
		total = -1
	}
	bar := newProgress(s.err, terminal(s.err), total)
	bar.verb, bar.good, bar.bad = "checked", "alive", "dead"
	var dead []check
	err = eachLine(res.Body, func(line []byte) error {
		var c check
		if err := json.Unmarshal(line, &c); err != nil {
			return fmt.Errorf("the server's line is no check: %w", err)
		}
		if !c.OK {
			dead = append(dead, c)
		}
		bar.add(c.OK)
		if s.tabular() {
			return nil
		}
		return s.printLine(line)
	})
	bar.end()
	if s.tabular() {
		err = cmp.Or(err, s.showDead(context.WithoutCancel(s.ctx), dead))
	}
	err = incomplete(s.ctx, err, bar.done, total)
	if err == nil && len(dead) > 0 && s.yes("fail") {
		err = fmt.Errorf("%d of %d proxies are dead: %w", len(dead), bar.done, errDead)
	}
	return err
}

// incomplete returns why fewer than total proxies were checked, nil when all were.
func incomplete(ctx context.Context, err error, done, total int) error {
	switch {
	case errors.Is(err, errGone):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("stopped after %d of %d proxies", done, total)
	case err != nil:
		return fmt.Errorf("the checks broke off after %d of %d: %w", done, total, err)
	case total >= 0 && done < total:
		return fmt.Errorf("the checks broke off after %d of %d", done, total)
	}
	return nil
}

// showDead prints the dead proxies and why. It requests their addresses, which checks do not contain.
func (s *session) showDead(ctx context.Context, dead []check) error {
	if len(dead) == 0 {
		return nil
	}
	addresses := map[string]string{}
	err := s.client.each(ctx, "/proxies", url.Values{"status": {"dead"}, "limit": {pageSize}}, func(row jsontext.Value) (bool, error) {
		v, err := decode(row)
		id, _ := member(v, "id").(string)
		addresses[id] = s.cell(v, "host:port")
		return true, err
	})
	if err != nil { // without them the table is still of use
		addresses = map[string]string{}
	}
	cells := [][]string{{"ID", "ADDRESS", "STAGE", "CODE", "MESSAGE"}}
	for _, c := range dead {
		line := []string{oneLine(c.ID), addresses[c.ID], "", "", ""}
		if c.Error != nil {
			line[2], line[3], line[4] = c.Error.Stage, c.Error.Code, oneLine(c.Error.Message)
		}
		cells = append(cells, line)
	}
	return s.grid(cells, true)
}

// batch acts on many profiles: at once, or as a job, which --wait follows to its end.
func batch(s *session) error {
	in := map[string]any{"action": s.arg("action")}
	if words := s.args["profile"]; len(words) > 0 {
		ids, err := s.resolveAll("profile", words, "")
		if err != nil {
			return err
		}
		in["ids"] = ids
	}
	rest, err := s.members()
	if err != nil {
		return err
	}
	if m, ok := rest.(map[string]any); ok {
		for name, v := range m {
			in[name] = v
		}
	}
	body, err := json.Marshal(in, json.Deterministic(true))
	if err != nil {
		return err
	}
	answer, err := s.client.read(s.ctx, request{method: http.MethodPost, path: "/profiles/batch", kind: "application/json",
		body: bytes.NewReader(body)})
	if err != nil {
		return err
	}
	var job struct {
		ID    string `json:"id"`
		Total int    `json:"total"`
	}
	if err := json.Unmarshal(answer, &job); err != nil {
		return err
	}
	if job.ID == "" {
		return s.printBatch(answer)
	}
	if !s.yes("wait") {
		return s.printObject(answer)
	}
	return s.followJob(job.ID, job.Total)
}

// printBatch prints the results of a batch, which are the answer's own.
func (s *session) printBatch(answer jsontext.Value) error {
	var out struct {
		Results []jsontext.Value `json:"results"`
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		return err
	}
	if !s.tabular() && !s.yes("quiet") {
		return errors.Join(s.printObject(answer), failures(out.Results))
	}
	return errors.Join(s.printList(out.Results), failures(out.Results))
}

// failures is an error if some of the results are one.
func failures(results []jsontext.Value) error {
	n := 0
	for _, r := range results {
		if failed(r) {
			n++
		}
	}
	if n > 0 {
		return fmt.Errorf("%d of %d failed", n, len(results))
	}
	return nil
}

func failed(result jsontext.Value) bool {
	v, err := decode(result)
	return err != nil || member(v, "error") != nil
}

// waitJob follows a job to its end, or says how far it is.
func waitJob(s *session) error {
	if !s.yes("wait") {
		return s.operate()
	}
	id, err := s.single("job", s.arg("job"), "")
	if err != nil {
		return err
	}
	var job struct {
		Total int `json:"total"`
	}
	if err := s.call(http.MethodGet, "/jobs/"+url.PathEscape(id), nil, &job); err != nil {
		return err
	}
	return s.followJob(id, job.Total)
}

// followJob shows the results of a job as they come, and prints how it ended. The server ends the stream of results with what there is, so
// that it is read until the job's end.
func (s *session) followJob(id string, total int) error {
	path := "/jobs/" + url.PathEscape(id)
	bar := newProgress(s.err, terminal(s.err), total)
	bar.quiet = time.Second
	for {
		answer, err := s.client.read(s.ctx, request{method: http.MethodGet, path: path})
		if err != nil {
			return err
		}
		var job struct {
			Status string `json:"status"`
			Done   int    `json:"done"`
			Failed int    `json:"failed"`
		}
		if err := json.Unmarshal(answer, &job); err != nil {
			return err
		}
		bar.set(job.Done, job.Done-job.Failed)
		if job.Status != "running" {
			bar.end()
			if err := s.printObject(answer); err != nil {
				return err
			}
			if job.Failed > 0 {
				return fmt.Errorf("%d of %d failed", job.Failed, total)
			}
			return nil
		}
		if err := s.untilEvent("job.progress", "job.ended"); err != nil {
			return err
		}
	}
}

// untilEvent waits for an event of one of the types, a second at most.
func (s *session) untilEvent(kinds ...string) error {
	ctx, cancel := context.WithTimeout(s.ctx, time.Second)
	defer cancel()
	err := s.client.follow(ctx, nil, func(e event) error {
		if matches(kinds, e.kind) {
			return io.EOF
		}
		return nil
	})
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	if _, refused := errors.AsType[*refused](err); refused {
		return err
	}
	return nil
}

// install installs a browser on the server's machine; --wait follows it to its end.
func install(s *session) error {
	in, err := s.body()
	if err != nil {
		return err
	}
	answer, err := s.client.read(s.ctx, request{method: http.MethodPost, path: "/browsers", kind: "application/json",
		body: bytes.NewReader(in)})
	if err != nil || !s.yes("wait") {
		return errors.Join(err, s.printNotEmpty(answer))
	}
	stop := s.waiting("installing")
	defer stop()
	for {
		var now struct {
			Status string `json:"status"`
			Error  *struct {
				Detail string `json:"detail"`
			} `json:"error"`
		}
		answer, err := s.client.read(s.ctx, request{method: http.MethodGet, path: "/browsers/installation"})
		if err == nil {
			err = json.Unmarshal(answer, &now)
		}
		switch {
		case err != nil:
			return err
		case now.Status == "failed" && now.Error != nil:
			return errors.New(harmless(now.Error.Detail))
		case now.Status != "running":
			stop()
			return s.printObject(answer)
		}
		if err := s.untilEvent("browser.*"); err != nil {
			return err
		}
	}
}

// duration returns the value of a flag that is a time.
func (s *session) duration(name string) time.Duration {
	d, _ := s.values[name].(time.Duration)
	return d
}
