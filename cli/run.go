package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// atOnce is how many objects a command works on at the same time, where each may take seconds.
const atOnce = 8

// do runs the command.
func (s *session) do() error {
	if s.cmd.shape != local && s.cmd.shape != raw {
		if _, err := s.format(); err != nil {
			return err
		}
	}
	if s.cmd.run != nil {
		return s.cmd.run(s)
	}
	return s.operate()
}

// operate does the command's operation with each object that its last argument names.
func (s *session) operate() error {
	if s.cmd.shape == listed {
		return s.listAll()
	}
	paths, err := s.paths()
	if err != nil {
		return err
	}
	_, method, _ := s.cmd.operation()
	r := request{method: method}
	if r.query, r.header, err = s.parameters(); err != nil {
		return err
	}
	in, err := s.body()
	if err != nil {
		return err
	}
	if s.cmd.shape == raw || s.cmd.shape == lines {
		return s.stream(paths, r, in)
	}
	return s.forEach(paths, func(ctx context.Context, path string) (jsontext.Value, error) {
		each := r
		each.path = path
		if in != nil {
			each.body, each.kind = bytes.NewReader(in), "application/json"
		}
		return s.client.read(ctx, each)
	})
}

// forEach calls do for every path, several at once, and prints the answers in order. One that fails does not stop the others.
func (s *session) forEach(paths []string, do func(ctx context.Context, path string) (jsontext.Value, error)) error {
	if len(paths) == 1 {
		stop := s.waiting(s.cmd.name)
		answer, err := do(s.ctx, paths[0])
		stop()
		if err != nil {
			return err
		}
		return s.printAnswer(answer)
	}
	answers, failed := make([]jsontext.Value, len(paths)), make([]error, len(paths))
	bar := newProgress(s.err, terminal(s.err), len(paths))
	bar.quiet = time.Second
	var guard sync.Mutex
	var all sync.WaitGroup
	turns := make(chan struct{}, atOnce)
	for i := range paths {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			answers[i], failed[i] = do(s.ctx, paths[i])
			guard.Lock()
			defer guard.Unlock()
			bar.add(failed[i] == nil)
		})
	}
	all.Wait()
	bar.end()
	var rows []jsontext.Value
	bad := 0
	var first error
	for i := range paths {
		if failed[i] != nil {
			bad++
			if first == nil {
				first = failed[i]
			}
			fmt.Fprintf(s.err, "%s: %v\n", lastSegment(paths[i]), failed[i])
		} else if len(answers[i]) > 0 {
			rows = append(rows, answers[i])
		}
	}
	if err := s.printAnswers(rows, len(paths)-bad); err != nil {
		return err
	}
	if bad > 0 {
		return coded{fmt.Errorf("%d of %d failed", bad, len(paths)), ExitCode(first)}
	}
	return nil
}

// lastSegment returns what a path is about, for a message: the id in it.
func lastSegment(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i := len(parts) - 1; i > 0; i-- {
		if wholeID.MatchString(parts[i]) {
			return parts[i]
		}
	}
	return parts[len(parts)-1]
}

// printAnswer prints one answer. printAnswers prints those of several objects.
func (s *session) printAnswer(answer jsontext.Value) error {
	if len(bytes.TrimSpace(answer)) == 0 {
		return s.printDone(1)
	}
	if rows, ok := listIn(answer); ok {
		return s.printList(rows)
	}
	if s.tabular() && s.cmd.cols != "" && !s.yes("dry-run") && len(s.list("columns")) == 0 && !strings.HasSuffix(s.cmd.name, " show") {
		return s.printTable([]jsontext.Value{answer})
	}
	return s.printObject(answer)
}

// listIn returns the objects of an answer that is a list.
func listIn(answer jsontext.Value) ([]jsontext.Value, bool) {
	var page struct {
		Data    []jsontext.Value `json:"data"`
		HasMore *bool            `json:"hasMore"`
	}
	return page.Data, json.Unmarshal(answer, &page) == nil && page.HasMore != nil
}

func (s *session) printAnswers(rows []jsontext.Value, done int) error {
	if len(rows) == 0 {
		return s.printDone(done)
	}
	return s.printList(rows)
}

// printDone says what became of objects of which the server says nothing.
func (s *session) printDone(n int) error {
	switch {
	case !s.tabular() || s.cmd.done == "" || n == 0:
		return nil
	case n == 1:
		return s.say("%s", s.cmd.done)
	}
	return s.say("%s: %d", s.cmd.done, n)
}

// paths returns the operation's address for each object that the last argument names.
func (s *session) paths() ([]string, error) {
	_, _, address := s.cmd.operation()
	paths := []string{address}
	profile := ""
	for i, a := range s.cmd.arguments() {
		start := strings.IndexByte(paths[0], '{')
		if start < 0 {
			break
		}
		end := start + strings.IndexByte(paths[0][start:], '}') + 1
		ids, err := s.resolveArgument(a, profile)
		if err != nil {
			return nil, err
		}
		if i < len(s.cmd.arguments())-1 && len(ids) != 1 {
			return nil, misusef("%q names %d things, and this command takes one", harmless(s.arg(a.name)), len(ids))
		}
		before, parameter := paths[0][:start], paths[0][start:end]
		rest := paths[0][end:]
		paths = paths[:0]
		for _, id := range ids {
			paths = append(paths, before+url.PathEscape(id)+rest)
		}
		if parameter == "{id}" && len(ids) == 1 {
			profile, s.profile = ids[0], ids[0]
		}
	}
	return paths, nil
}

// resolveArgument returns the ids of what an argument names. Some commands look in the trash.
func (s *session) resolveArgument(a argument, profile string) ([]string, error) {
	object := a.object
	if object == "profile" && (s.yes("trashed") || s.cmd.name == "profile restore") {
		object = "trashed"
	}
	ids, err := s.resolveAll(object, s.args[a.name], profile)
	if err != nil && s.yes("permanent") && ExitCode(err) == ExitFailed { // what is in the trash may be removed for good too
		return s.resolveAll("trashed", s.args[a.name], profile)
	}
	return ids, err
}

// parameters returns those of the query and the headers that flags set.
func (s *session) parameters() (url.Values, http.Header, error) {
	q, h := url.Values{}, http.Header{}
	for _, f := range s.cmd.flags {
		v, there := s.values[f.name]
		if !there || f.where != query && f.where != header {
			continue
		}
		words, err := s.words(f, v)
		if err != nil {
			return nil, nil, err
		}
		if f.where == header {
			h.Set(f.member, strings.Join(words, ","))
		} else if words != nil {
			q[f.member] = words
		}
	}
	return q, h, nil
}

// words returns a flag's value as text. Names of objects become ids.
func (s *session) words(f flag, v any) ([]string, error) {
	switch x := v.(type) {
	case string:
		if x == "" {
			return nil, nil
		}
		if f.object != "" {
			id, err := s.single(f.object, x, "")
			return []string{id}, err
		}
		return []string{x}, nil
	case []string:
		if f.object != "" {
			return s.resolveAll(f.object, x, "")
		}
		return x, nil
	case bool:
		return []string{strconv.FormatBool(x)}, nil
	case time.Duration:
		return []string{strconv.FormatInt(x.Milliseconds(), 10)}, nil
	}
	return []string{fmt.Sprint(v)}, nil
}

// listAll lists everything that the query selects, or --max of it.
func (s *session) listAll() error {
	if s.yes("watch") {
		return s.watch(func() error { return s.listOnce(s.ctx) })
	}
	return s.listOnce(s.ctx)
}

func (s *session) listOnce(ctx context.Context) error {
	s.now = time.Now()
	format, err := s.format()
	if err != nil {
		return err
	}
	if !s.yes("quiet") && isLines(format) { // a list may be longer than what fits into memory: the audit log
		return s.eachRow(ctx, func(row jsontext.Value) error { return s.printAs(format, row) })
	}
	var rows []jsontext.Value
	if err := s.eachRow(ctx, func(row jsontext.Value) error {
		rows = append(rows, row)
		return nil
	}); err != nil {
		return err
	}
	return s.printList(rows)
}

// eachRow reads the list page by page.
func (s *session) eachRow(ctx context.Context, do func(jsontext.Value) error) error {
	paths, err := s.paths()
	if err != nil {
		return err
	}
	q, _, err := s.parameters()
	if err != nil {
		return err
	}
	most := s.number("max")
	if s.pages() {
		q.Set("limit", pageSize)
		if most > 0 && most < 200 {
			q.Set("limit", strconv.Itoa(most))
		}
	}
	n := 0
	return s.client.each(ctx, paths[0], q, func(row jsontext.Value) (bool, error) {
		n++
		return most <= 0 || n < most, do(row)
	})
}

// unpaged are the lists that come whole.
var unpaged = []string{"listRuns", "listNodes", "listSnapshots", "listPasskeys", "listBrowsers", "listRunHosts"}

func (s *session) pages() bool {
	id, _, _ := s.cmd.operation()
	for _, name := range unpaged {
		if name == id {
			return false
		}
	}
	return true
}

// stream passes an answer on as it comes: a file, or lines of JSON.
func (s *session) stream(paths []string, r request, in []byte) error {
	if len(paths) != 1 {
		return misusef("this command takes one object")
	}
	r.path = paths[0]
	if in != nil {
		r.body, r.kind = bytes.NewReader(in), "application/json"
	}
	res, err := s.client.open(s.ctx, r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if s.cmd.shape == lines {
		return eachLine(res.Body, func(line []byte) error { return s.printLine(line) })
	}
	kind := res.Header.Get("Content-Type")
	return s.copyTo(res.Body, !strings.HasPrefix(kind, "text/") && !strings.HasPrefix(kind, "application/json"))
}

// printLine prints an object of a stream.
func (s *session) printLine(line jsontext.Value) error {
	format, err := s.format()
	switch {
	case err != nil:
		return err
	case s.yes("quiet"):
		return s.printIDs([]jsontext.Value{line})
	case format == "json", format == "jsonl":
		return s.printRaw(line)
	case format == "yaml":
		return s.printYAML(line)
	case format != "table":
		return s.printAs(format, line)
	}
	v, err := decode(line)
	if err != nil {
		return err
	}
	cells := []string{}
	for _, c := range s.columns([]any{v}) {
		cells = append(cells, s.cell(v, c.path))
	}
	return s.say("%s", strings.Join(cells, gap))
}

// eachLine reads lines until the end; blank ones are none.
func eachLine(r io.Reader, do func(line []byte) error) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
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

// call does one operation with the session's client.
func (s *session) call(method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	r := request{method: method, path: path, body: body}
	if body != nil {
		r.kind = "application/json"
	}
	answer, err := s.client.read(s.ctx, r)
	if err != nil || out == nil || len(answer) == 0 {
		return err
	}
	return json.Unmarshal(answer, out)
}
