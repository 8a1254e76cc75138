package api

import (
	"cmp"
	"context"
	"errors"
	"mime"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"warren/events"
	"warren/problem"
	"warren/proxy"
	"warren/store"
)

// Imports lists of proxies, which import_read.go reads. A call is not one transaction: it is written in parts of importPart lines,
// so that it holds up no other writer for long. A crash between two parts leaves whole lines; the same call again finds them as duplicates.

const (
	maxImportBody  = 16 << 20
	maxImportLines = 10000
	importPart     = 1000
	maxFailedLines = 200 // results of an answer that has only those
)

// bodyLimit is the largest body of an operation, in bytes.
func bodyLimit(pattern string) int64 {
	switch {
	case strings.HasSuffix(pattern, "/proxies/import"):
		return maxImportBody
	case strings.HasSuffix(pattern, "/session-keys"): // it may come without a key
		return maxCodeBody
	}
	return maxBody
}

// ImportAnswer says what became of a list of proxies: how many lines had each result, and each line's.
type ImportAnswer struct {
	Created   int                `json:"created"`
	Duplicate int                `json:"duplicate"`
	Invalid   int                `json:"invalid"`
	Ambiguous int                `json:"ambiguous"`
	Results   []importResultJSON `json:"results" doc:"One for each line that is neither blank nor a comment, in their order. The query may ask for fewer."`
}

// importResultJSON is the result of one line.
type importResultJSON struct {
	Line       int      `json:"line" doc:"Counts the lines of a text and of a CSV file (its first one is the header), and the members of a JSON list, from 1." example:"1"`
	Result     string   `json:"result" enum:"created,duplicate,invalid,ambiguous"`
	ID         *string  `json:"id" doc:"The proxy that was made; null in a dry run."`
	ExistingID *string  `json:"existingId" doc:"With duplicate: the proxy that has the same type, host, port and username; null where that is a line above, in a dry run."`
	Reason     *string  `json:"reason" doc:"Why the line made no proxy, for people."`
	Readings   []string `json:"readings" doc:"With ambiguous: what the line may mean, without passwords: *** also stands for what would be a password in another reading."`
}

func (ImportAnswer) example() any {
	return ImportAnswer{Created: 1, Ambiguous: 1, Results: []importResultJSON{
		{Line: 1, Result: "created", ID: new(exampleProxyID), Readings: []string{}},
		{Line: 2, Result: "ambiguous", Reason: new(manyReadings),
			Readings: []string{"socks5://alice:***@192.0.2.1:***", "socks5://192.0.2.1:***@alice:***"}}}}
}

// importRequest is a list to import.
type importRequest struct {
	WorkspaceID string   `query:"workspaceId" doc:"The workspace that gets the proxies. Without it: the key's only workspace, else default." example:"default"`
	Type        string   `query:"type" enum:"socks5,http,https,socks4,socks5h,socks,socks4a" doc:"Of lines that name none. Default: socks5."`
	Tag         []string `query:"tag,explode" maxItems:"50" doc:"Every proxy that is made gets it, after its own; may be given several times."`
	DryRun      bool     `query:"dryRun" doc:"Say what would be done, and do nothing."`
	Choice      []string `query:"choice,explode" maxItems:"1000" doc:"What an ambiguous line means: LINE:READING, both counted from 1, as the answer of a dry run has them. 5:2 takes the second reading of line 5, *:1 the first of every other ambiguous line. May be given several times." example:"5:2"`
	Results     string   `query:"results" enum:"all,failed" doc:"failed: only those of lines that made no proxy, the first 200. The counts are of all lines. Default: all."`
	RawBody     []byte   `contentType:"text/plain"`

	workspace string
	lines     []importLine
}

// example is the list as JSON.
func (importRequest) example() any {
	return map[string]any{"workspaceId": "default", "proxies": []any{"nl.proxy.example:1080:alice:secret",
		map[string]any{"type": "http", "host": "fr.proxy.example", "port": 3128, "tags": []string{"fr"}}}}
}

// importLine is one line as it was read: a proxy, or several readings, or the reason why it is none.
type importLine struct {
	number   int
	row      store.Proxy // but its id, and what is sealed
	value    proxy.Proxy
	readings []string // more than one meaning
	reason   string   // none
}

// Resolve reads the list, and checks the request by itself.
func (in *importRequest) Resolve(ctx huma.Context) []error {
	var f faults
	r := importReader{typ: proxy.SOCKS5, tags: f.tags("query.tag", in.Tag), choices: readChoices(in.Choice, &f)}
	if t, ok := proxy.ParseType(in.Type); ok {
		r.typ = t
	}
	if p := r.read(ctx.Header("Content-Type"), in.RawBody, &f); p != nil {
		return []error{p}
	}
	in.workspace = in.workspaceOf(r.workspace, callerOf(ctx.Context()), &f)
	f.require(!r.full(), "body", "The list has more than 10,000 lines, and nothing was imported. Import it in parts.")
	for _, c := range r.choices {
		f.require(c.taken, element("query.choice", c.at),
			"This line is not ambiguous, or has no such reading. Send the list without results first, and look at its readings.")
	}
	in.lines = r.lines
	return f.errors()
}

// importChoice is what the caller says about an ambiguous line.
type importChoice struct {
	at      int  // index in the query
	reading int  // index in the line's readings
	taken   bool // or need not be
}

// readChoices reads the choices of the query, by the number of the line: 0 stands for every line without a choice of its own.
func readChoices(given []string, f *faults) map[int]*importChoice {
	out := map[int]*importChoice{}
	for i, text := range given {
		before, after, _ := strings.Cut(text, ":")
		every := before == "*"
		if every {
			before = "0"
		}
		line, err := strconv.ParseUint(before, 10, 31)
		reading, errReading := strconv.ParseUint(after, 10, 31)
		if err != nil || errReading != nil || reading == 0 || line == 0 && !every {
			f.add(element("query.choice", i), "Enter LINE:READING, such as 5:2 or *:1.", nil)
			continue
		}
		out[int(line)] = &importChoice{at: i, reading: int(reading) - 1, taken: every}
	}
	return out
}

// workspaceOf decides which workspace gets the proxies. The query and a JSON list may name it, not two different ones.
func (in *importRequest) workspaceOf(listed opt[string], c *caller, f *faults) string {
	named, location := opt[string]{Set: in.WorkspaceID != "", Value: in.WorkspaceID}, "query.workspaceId"
	if listed.given() {
		f.require(!named.Set || named.Value == listed.Value, "body.workspaceId", "The address names another workspace. Name one of them.")
		named, location = listed, "body.workspaceId"
	}
	return f.workspace(c, location, named)
}

func unsupportedList() *problem.Error {
	return problem.New(problem.Unsupported, "unsupported_media_type", "Send the list as text/plain, as text/csv or as application/json.")
}

// mediaType is the Content-Type without its parameters. Every name of JSON becomes application/json, and so does an absent header.
func mediaType(header string) string {
	kind, params, err := mime.ParseMediaType(cmp.Or(header, "application/json"))
	charset := params["charset"]
	if err != nil || charset != "" && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "us-ascii") {
		return ""
	}
	if strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json") {
		return "application/json"
	}
	return kind
}

func (s *API) importProxies(ctx context.Context, in *importRequest) (*struct{ Body ImportAnswer }, error) {
	ctx = context.WithoutCancel(ctx) // the import goes on when its client goes away
	out := &ImportAnswer{Results: make([]importResultJSON, len(in.lines))}
	var once []int // indexes of lines that are proxies, each once
	first := map[proxy.Proxy]int{}
	again := map[int]int{} // lines that repeat a line above, and that line
	for i, line := range in.lines {
		r := &out.Results[i]
		*r = importResultJSON{Line: line.number, Result: "created", Readings: []string{}}
		address := line.value
		address.Password = ""
		switch j, there := first[address]; {
		case line.reason != "":
			r.Result, r.Reason = "invalid", &line.reason
		case line.readings != nil:
			r.Result, r.Readings = "ambiguous", line.readings
			r.Reason = new(manyReadings)
		case there:
			again[i] = j
		default:
			first[address] = i
			once = append(once, i)
		}
	}
	var err error
	if in.DryRun {
		nothingToRecord(ctx)
	}
	about(ctx, in.workspace, "", map[string]any{"lines": len(in.lines), "count": len(once)})
	err = s.fitsQuota(ctx, in, once)
	for part := range slices.Chunk(once, importPart) {
		if err != nil {
			break
		}
		if err = s.importPart(ctx, in, part, out.Results); err != nil {
			break
		}
	}
	for i, j := range again {
		r := &out.Results[i]
		r.Result, r.Reason = "duplicate", new("This proxy is already on a line above.")
		r.ExistingID = cmp.Or(out.Results[j].ID, out.Results[j].ExistingID)
	}
	if made := out.count(); made > 0 {
		s.events.Publish(events.Event{Type: "proxy.imported", Workspace: in.workspace,
			Data: proxiesImported{out.Ambiguous, made, out.Duplicate, out.Invalid}})
	}
	if in.Results == "failed" {
		out.Results = slices.DeleteFunc(out.Results, func(r importResultJSON) bool { return r.Result == "created" })
		out.Results = out.Results[:min(len(out.Results), maxFailedLines)]
	}
	return &struct{ Body ImportAnswer }{*out}, err
}

// proxiesImported is what the event proxy.imported says: how many lines had each result.
type proxiesImported struct {
	Ambiguous int `json:"ambiguous"`
	Created   int `json:"created"`
	Duplicate int `json:"duplicate"`
	Invalid   int `json:"invalid"`
}

// count counts the lines of each result, and the proxies that were made: none in a dry run.
func (out *ImportAnswer) count() (made int) {
	counts := map[string]*int{"created": &out.Created, "duplicate": &out.Duplicate, "invalid": &out.Invalid, "ambiguous": &out.Ambiguous}
	for _, r := range out.Results {
		*counts[r.Result]++
		if r.ID != nil {
			made++
		}
	}
	return made
}

// fitsQuota refuses an import that would exceed the quota of the workspace, before its first part is written.
func (s *API) fitsQuota(ctx context.Context, in *importRequest, once []int) error {
	q := s.store.Read()
	row, err := q.GetWorkspace(ctx, store.GetWorkspaceParams{ID: in.workspace})
	if errors.Is(err, store.ErrNoRow) || err == nil && (row.QuotaProxies == nil || in.DryRun) {
		return nil
	}
	if err != nil {
		return err
	}
	missing := int64(0)
	for part := range slices.Chunk(once, importPart) {
		rows := make([]store.Proxy, len(part))
		for i, line := range part {
			v := in.lines[line].value
			rows[i] = store.Proxy{Type: string(v.Type), Host: v.Host, Port: int64(v.Port), Username: v.Username}
		}
		found, err := q.FindAddresses(ctx, in.workspace, callerOf(ctx).Sees.Filter(), rows)
		if err != nil {
			return err
		}
		missing += int64(len(part) - len(found))
	}
	if missing > 0 && row.ProxyCount+missing > *row.QuotaProxies {
		return &store.QuotaError{Quota: "proxies", Workspace: in.workspace}
	}
	return nil
}

// importPart writes some lines, and their results.
func (s *API) importPart(ctx context.Context, in *importRequest, part []int, results []importResultJSON) error {
	rows := make([]store.Proxy, len(part))
	for i, line := range part {
		l := &in.lines[line]
		rows[i] = l.row
		rows[i].ID = store.NewID()
		if in.DryRun {
			rows[i].Type, rows[i].Host = string(l.value.Type), l.value.Host
			rows[i].Port, rows[i].Username = int64(l.value.Port), l.value.Username
		} else if err := s.pool.Seal(&rows[i], l.value); err != nil {
			return err
		}
	}
	c := callerOf(ctx)
	var found map[int]string
	var err error
	if in.DryRun {
		found, err = s.store.Read().FindAddresses(ctx, in.workspace, c.Sees.Filter(), rows)
	} else {
		err = s.change(ctx, func(q *store.Queries) (err error) {
			found, err = addMissing(ctx, q, in.workspace, c.Sees.Filter(), rows)
			return err
		})
	}
	if err != nil {
		return err
	}
	for i, line := range part {
		r := &results[line]
		if id, there := found[i]; there {
			r.Result, r.ExistingID = "duplicate", &id
			r.Reason = new("The workspace already has a proxy with this type, host, port and user name.")
		} else if !in.DryRun {
			r.ID = &rows[i].ID
		}
	}
	return nil
}

// addMissing writes the rows that the workspace does not have, and returns the ids of those that it has. It is three statements.
func addMissing(ctx context.Context, q *store.Queries, workspace string, workspaces *string, rows []store.Proxy) (map[int]string, error) {
	at := now()
	if _, err := q.EnsureWorkspace(ctx, store.EnsureWorkspaceParams{ID: workspace, Now: at}); err != nil {
		return nil, err
	}
	found, err := q.FindAddresses(ctx, workspace, workspaces, rows)
	if err != nil {
		return nil, err
	}
	var missing []store.Proxy
	for i, row := range rows {
		if _, there := found[i]; !there {
			missing = append(missing, row)
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	return found, q.AddProxies(ctx, workspace, at, missing)
}
