package api

import (
	"bufio"
	"context"
	"encoding/csv"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"warren/proxy"
	"warren/store"
)

// Exports proxies in the formats that import reads. An export with secrets is imported as the same proxies. CSV changes one thing:
// line breaks of notes become LF.

// exportPart is how many proxies are read from the database at a time.
const exportPart = 500

// exportRequest selects the proxies and the format of an export.
type exportRequest struct {
	ProxyFilter
	Format  string `query:"format" enum:"text,csv,json" doc:"Default: from Accept, else text."`
	Secrets bool   `query:"secrets" doc:"Include passwords; needs the scope secrets too."`
}

// Resolve implements huma.Resolver. Exports with secrets need one more scope.
func (in *exportRequest) Resolve(ctx huma.Context) []error {
	if in.Secrets {
		if p := callerOf(ctx.Context()).may(scopeSecrets); p != nil {
			return []error{p}
		}
	}
	return in.InWorkspace.Resolve(ctx)
}

// exportFormat returns the format that was asked for, else the first known one in Accept, else text.
func exportFormat(asked, accept string) string {
	if asked != "" {
		return asked
	}
	formats := map[string]string{"text/plain": "text", "text/csv": "csv", "application/json": "json"}
	for kind := range strings.SplitSeq(accept, ",") {
		kind, _, _ = strings.Cut(kind, ";")
		if format, known := formats[strings.ToLower(strings.TrimSpace(kind))]; known {
			return format
		}
	}
	return "text"
}

func (s *API) exportProxies(ctx context.Context, in *exportRequest) (*huma.StreamResponse, error) {
	c := callerOf(ctx)
	// oldest first: an import of the file keeps their order
	ids, err := s.store.ProxyIDs(ctx, store.ProxyList{ProxyFilter: in.rows(c), Ascending: true})
	if err != nil {
		return nil, err
	}
	format := exportFormat(in.Format, requestOf(ctx).accept)
	workspace := in.WorkspaceID
	if own := c.Sees.Workspaces(); workspace == "" && len(own) == 1 {
		workspace = own[0]
	}
	if !in.Secrets { // nothing secret is shown, and readers could fill the disk with entries
		nothingToRecord(ctx)
	} else if err := s.audit(ctx, "proxies.export", workspace, "", in.detail(len(ids), format)); err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		kinds := map[string][2]string{"text": {"text/plain; charset=utf-8", "txt"}, "csv": {"text/csv; charset=utf-8", "csv"},
			"json": {"application/json", "json"}}
		hctx.SetHeader("Content-Type", kinds[format][0])
		hctx.SetHeader("Content-Disposition", `attachment; filename="proxies.`+kinds[format][1]+`"`)
		hctx.SetStatus(http.StatusOK)
		if err := s.writeExport(ctx, hctx.BodyWriter(), format, ids, in.Secrets); err != nil {
			s.log.Warn("export failed", "request", requestID(ctx), "cause", err)
			panic(http.ErrAbortHandler) // the client must see that the answer is incomplete
		}
	}}, nil
}

// detail returns what the audit log stores: the filter and the number of proxies.
func (in *exportRequest) detail(count int, format string) map[string]any {
	d := map[string]any{"count": count, "format": format, "secrets": in.Secrets}
	for name, value := range map[string]string{"workspaceId": in.WorkspaceID, "type": in.Type, "status": in.Status, "country": in.Country,
		"search": in.Search} {
		if value != "" {
			d[name] = value
		}
	}
	for _, tag := range in.Tag {
		tags, _ := d["tag"].([]string)
		d["tag"] = append(tags, truncate(tag, maxMember)) // every stored tag is shorter
	}
	return d
}

// writeExport reads and writes the proxies in parts. A reader that takes nothing for 30 seconds is disconnected.
func (s *API) writeExport(ctx context.Context, w io.Writer, format string, ids []string, secrets bool) error {
	out := newExport(w, format, secrets)
	limit := func(time.Time) error { return nil }
	if rw, ok := w.(http.ResponseWriter); ok {
		limit = http.NewResponseController(rw).SetWriteDeadline
	}
	defer limit(time.Time{}) //nolint:errcheck // without a deadline there is none to remove
	for part := range slices.Chunk(ids, exportPart) {
		limit(time.Now().Add(30 * time.Second)) //nolint:errcheck // as above
		if err := s.exportPart(ctx, out, part, secrets); err != nil {
			return err
		}
	}
	if format == "json" {
		out.text("]}\n")
	}
	return out.flush()
}

// forExport removes from a row what an export must not have. Without secrets that is the password, and a rotateUrl with more than a
// host.
func (s *API) forExport(row store.Proxy, secrets bool) (store.Proxy, error) {
	var err error
	switch {
	case secrets:
		row.RotateURL, err = s.store.RotateURL(row)
	case row.RotateSealed != nil:
		row.RotateURL, row.Password = "", nil
	default:
		row.Password = nil
	}
	return row, err
}

func (s *API) exportPart(ctx context.Context, out *export, ids []string, secrets bool) error {
	rows, err := s.store.ProxiesAt(ctx, ids, callerOf(ctx).Sees)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row, err = s.forExport(row, secrets); err != nil {
			return err
		}
		px := s.pool.Open(row)
		if err := px.Usable(); err != nil {
			return err
		}
		if err := out.write(row, px.Address); err != nil {
			return err
		}
	}
	return out.flush()
}

// export writes proxies in one of the formats. Its buffer keeps the first error of writing, and flush returns it.
type export struct {
	format string
	b      *bufio.Writer
	csv    *csv.Writer
	count  int
}

// newExport begins an export.
func newExport(w io.Writer, format string, secrets bool) *export {
	b := bufio.NewWriterSize(w, 64<<10)
	e := &export{format: format, b: b, csv: csv.NewWriter(b)}
	switch {
	case format == "csv":
		e.csv.Write(csvMembers()) //nolint:errcheck // flush returns it
	case format == "json":
		e.text(`{"proxies":[`)
	case !secrets:
		e.text("# Passwords are left out.\n")
	}
	return e
}

func (e *export) text(s string) {
	e.b.WriteString(s) //nolint:errcheck // flush returns it
}

func (e *export) flush() error {
	e.csv.Flush()
	return e.b.Flush()
}

func (e *export) write(row store.Proxy, p proxy.Proxy) error {
	e.count++
	switch e.format {
	case "csv":
		return e.csv.Write(csvCells(row, p))
	case "json":
		text, err := json.Marshal(exportedOf(row, p))
		if e.count > 1 {
			e.text(",\n")
		}
		e.text(string(text))
		return err
	}
	e.text(p.URL() + "\n")
	return nil
}

// csvCells returns the cells of a proxy in the order of csvMembers. No cell may hold what a spreadsheet would run as a formula or
// change. Addresses with such a part are written to the url column with %XX. Free text gets a ' in front.
func csvCells(row store.Proxy, p proxy.Proxy) []string {
	cells := map[string]string{"name": textCell(row.Name), "tags": textCell(tagsCell(row.Tags)), "notes": textCell(row.Notes),
		"rotateUrl": row.RotateURL}
	if plainCell(p.Host) && plainCell(p.Username) && plainCell(p.Password) {
		cells["type"], cells["host"], cells["port"], cells["username"], cells["password"] = string(p.Type), p.Host, strconv.Itoa(p.Port),
			p.Username, p.Password
	} else {
		cells["url"] = p.URL()
	}
	var out []string
	for _, m := range csvMembers() {
		out = append(out, cells[m])
	}
	return out
}

// plainCell reports whether a part of an address can be a cell unchanged.
func plainCell(s string) bool {
	return textCell(s) == s && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl) && strings.TrimSpace(s) == s
}

// tagsCell returns a row's tags as cellTags reads them.
func tagsCell(text string) string {
	var tags []string
	if json.Unmarshal([]byte(text), &tags) != nil {
		return ""
	}
	joined := strings.Join(tags, ",")
	if strings.HasPrefix(joined, "[") || slices.ContainsFunc(tags, func(t string) bool { return strings.Contains(t, ",") }) {
		return text
	}
	return joined
}

// exportedJSON is a proxy as addProxy and import take it.
type exportedJSON struct {
	URL       string     `json:"url,omitempty"`
	Type      string     `json:"type,omitempty"`
	Host      string     `json:"host,omitempty"`
	Port      int        `json:"port,omitzero"`
	Username  string     `json:"username,omitempty"`
	Password  string     `json:"password,omitempty"`
	Name      string     `json:"name,omitempty"`
	Tags      rawStrings `json:"tags,omitempty"`
	Notes     string     `json:"notes,omitempty"`
	RotateURL string     `json:"rotateUrl,omitempty"`
}

// exportedOf returns a row as JSON. Credentials that are not UTF-8, which JSON cannot hold, are written into a URL.
func exportedOf(row store.Proxy, p proxy.Proxy) exportedJSON {
	out := exportedJSON{Name: row.Name, Tags: rawStrings(row.Tags), Notes: row.Notes, RotateURL: row.RotateURL}
	if !utf8.ValidString(p.Username) || !utf8.ValidString(p.Password) {
		out.URL = p.URL()
		return out
	}
	out.Type, out.Host, out.Port, out.Username, out.Password = string(p.Type), p.Host, p.Port, p.Username, p.Password
	return out
}
