package main

import (
	"context"
	"mime"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"warren/events"
	"warren/problem"
	"warren/proxy"
	"warren/store"
)

// This file takes in lists of proxies. import_read.go reads them. A call is not one transaction: it is written in parts of
// importPart lines, so that it holds up no other writer for long. A crash between leaves whole lines, and the same call again
// finds them as duplicates.

const (
	maxImportBody  = 16 << 20
	maxImportLines = 10000
	importPart     = 1000
)

// bodyLimit is the largest body of an operation, in bytes.
func bodyLimit(pattern string) int64 {
	if strings.HasSuffix(pattern, "/proxies/import") {
		return maxImportBody
	}
	return maxBody
}

type importJSON struct {
	Created   int                `json:"created"`
	Duplicate int                `json:"duplicate"`
	Invalid   int                `json:"invalid"`
	Ambiguous int                `json:"ambiguous"`
	Results   []importResultJSON `json:"results" doc:"One for each line that is neither blank nor a comment, in their order."`
}

// importResultJSON is what came of one line.
type importResultJSON struct {
	Line       int      `json:"line" doc:"Counts the lines of a text and of a CSV file (its first one is the header), and the members of a JSON list, from 1." example:"1"`
	Result     string   `json:"result" enum:"created,duplicate,invalid,ambiguous"`
	ID         *string  `json:"id" doc:"The proxy that was made; null in a dry run."`
	ExistingID *string  `json:"existingId" doc:"With duplicate: the proxy that has the same type, host, port and username; null where that is a line above, in a dry run."`
	Reason     *string  `json:"reason" doc:"Why the line made no proxy, for people."`
	Readings   []string `json:"readings" doc:"With ambiguous: what the line may mean, without passwords: *** also stands for what would be a password in another reading."`
}

// importRequest is a list to take in.
type importRequest struct {
	WorkspaceID string   `query:"workspaceId" doc:"The workspace that gets the proxies. Without it: the key's only workspace, else default." example:"default"`
	Type        string   `query:"type" enum:"socks5,http,https,socks4,socks5h,socks,socks4a" doc:"Of lines that name none. Default: socks5."`
	Tag         []string `query:"tag,explode" maxItems:"50" doc:"Every proxy that is made gets it, after its own; may be given several times."`
	DryRun      bool     `query:"dryRun" doc:"Say what would be done, and do nothing."`
	RawBody     []byte   `contentType:"text/plain"`

	workspace string
	lines     []importLine
}

// importLine is one line, read.
type importLine struct {
	number   int
	row      store.Proxy // but its id, and what is sealed
	value    proxy.Proxy
	readings []string // more than one meaning
	reason   string   // none
}

// Resolve reads the list, and looks at everything at once.
func (in *importRequest) Resolve(ctx huma.Context) []error {
	s, c := requestOf(ctx.Context()).server, callerOf(ctx.Context())
	var f faults
	r := importReader{typ: proxy.SOCKS5, tags: f.tags("query.tag", in.Tag), registry: s.api.OpenAPI().Components.Schemas}
	if t, ok := proxy.ParseType(in.Type); ok {
		r.typ = t
	}
	if p := r.read(ctx.Header("Content-Type"), in.RawBody, &f); p != nil {
		return []error{p}
	}
	named := opt[string]{Set: in.WorkspaceID != "", Value: in.WorkspaceID}
	at := "query.workspaceId"
	if r.workspace.given() {
		if named.Set && named.Value != r.workspace.Value {
			f.add("body.workspaceId", "is another one than query.workspaceId", nil)
		}
		named, at = r.workspace, "body.workspaceId"
	}
	workspace, bad := c.workspaceFor(named)
	if bad != nil {
		f.add(at, bad.Message, nil)
	}
	if len(r.lines) > maxImportLines {
		f.add("body", "has more than 10,000 lines: nothing was imported. Send it in parts", nil)
	}
	in.workspace, in.lines = workspace, r.lines
	return f.errors()
}

func unsupportedList() *problem.Error {
	return problem.New(problem.Unsupported, "unsupported_media_type", "Send the list as text/plain, as text/csv or as application/json.")
}

// mediaType is the Content-Type without its parameters; JSON in all its names is application/json, and nothing is JSON.
func mediaType(header string) string {
	if header == "" {
		return "application/json"
	}
	kind, params, err := mime.ParseMediaType(header)
	if charset := params["charset"]; err != nil || charset != "" && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "us-ascii") {
		return ""
	}
	if strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json") {
		return "application/json"
	}
	return kind
}

func (s *server) importProxies(ctx context.Context, in *importRequest) (*struct{ Body importJSON }, error) {
	ctx = context.WithoutCancel(ctx) // a client that goes away stops nothing half-way
	out := &importJSON{Results: make([]importResultJSON, len(in.lines))}
	var parts [][]int // places of lines that are proxies, each once
	first := map[proxy.Proxy]int{}
	again := map[int]int{} // lines that say what a line above has said
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
			r.Reason = new("can be read in more than one way: write it as scheme://user:password@host:port")
		case there:
			again[i] = j
		default:
			first[address] = i
			if n := len(parts); n == 0 || len(parts[n-1]) == importPart {
				parts = append(parts, nil)
			}
			parts[len(parts)-1] = append(parts[len(parts)-1], i)
		}
	}
	var err error
	for _, part := range parts {
		if err = s.importPart(ctx, in, part, out.Results); err != nil {
			break
		}
	}
	for i, j := range again {
		r := &out.Results[i]
		r.Result, r.Reason = "duplicate", new("is the same proxy as a line above")
		if r.ExistingID = out.Results[j].ID; r.ExistingID == nil {
			r.ExistingID = out.Results[j].ExistingID
		}
	}
	out.count()
	if made := out.made(); made > 0 {
		s.events.Publish(events.Event{Type: "proxy.imported", Workspace: in.workspace, Data: map[string]any{"created": made, "duplicate": out.Duplicate, "invalid": out.Invalid, "ambiguous": out.Ambiguous}})
	}
	return &struct{ Body importJSON }{*out}, err
}

func (out *importJSON) count() {
	for _, r := range out.Results {
		switch r.Result {
		case "created":
			out.Created++
		case "duplicate":
			out.Duplicate++
		case "invalid":
			out.Invalid++
		case "ambiguous":
			out.Ambiguous++
		}
	}
}

// made is how many proxies there are now that were not before.
func (out *importJSON) made() (n int) {
	for _, r := range out.Results {
		if r.ID != nil {
			n++
		}
	}
	return n
}

// importPart writes some lines, and says what came of them.
func (s *server) importPart(ctx context.Context, in *importRequest, part []int, results []importResultJSON) error {
	rows := make([]store.Proxy, len(part))
	for i, line := range part {
		l := &in.lines[line]
		rows[i] = l.row
		rows[i].ID = store.NewID()
		if in.DryRun {
			rows[i].Type, rows[i].Host, rows[i].Port, rows[i].Username = string(l.value.Type), l.value.Host, int64(l.value.Port), l.value.Username
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
		err = s.store.Write(ctx, func(q *store.Queries) (err error) {
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
			r.Result, r.ExistingID, r.Reason = "duplicate", &id, new("the workspace has a proxy with the same type, host, port and username")
		} else if !in.DryRun {
			r.ID = &rows[i].ID
		}
	}
	return nil
}

// addMissing writes the rows that the workspace does not have, and tells which it has. It is three statements.
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
