package api

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"warren/problem"
	"warren/proxy"
	"warren/store"
)

// importReader reads a list in any of its forms. What is wrong with one line is that line's reason; what is wrong with the
// list as a whole is a fault.
type importReader struct {
	typ       proxy.Type            // of lines that name none
	tags      []string              // for every line
	workspace opt[string]           // as a JSON list names it
	choices   map[int]*importChoice // by the number of the line
	schemas   huma.Registry
	schema    *huma.Schema // of a member of a JSON list that is an object
	lines     []importLine
}

// full says that there are too many lines. Nothing is imported then, and the rest is not read.
func (r *importReader) full() bool { return len(r.lines) > maxImportLines }

func (r *importReader) read(contentType string, body []byte, f *faults) *problem.Error {
	switch mediaType(contentType) {
	case "text/plain":
		r.readText(bytes.TrimPrefix(body, []byte("\ufeff")))
	case "text/csv":
		r.readCSV(bytes.TrimPrefix(body, []byte("\ufeff")), f)
	case "application/json":
		return r.readJSON(body, f)
	default:
		return unsupportedList()
	}
	return nil
}

func (r *importReader) readText(text []byte) {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if r.full() {
			return
		}
		r.readLine(n, string(line), false)
	}
}

// readLine reads a proxy from one text. needed says that an empty text is invalid, and not skipped.
func (r *importReader) readLine(n int, text string, needed bool) {
	found, err := proxy.ReadLine(text, r.typ)
	if len(found) == 0 && err == nil && !needed {
		return
	}
	if c := cmp.Or(r.choices[n], r.choices[0]); c != nil && len(found) > 1 && c.reading < len(found) {
		found, c.taken = found[c.reading:c.reading+1], true
	}
	line := importLine{number: n}
	switch {
	case err != nil:
		line.reason = err.Error()
	case len(found) == 0:
		line.reason = "The line is empty."
	case len(found) > 1:
		line.readings = proxy.Readings(found)
	case !utf8.ValidString(found[0].Username): // out of a URL's %XX
		line.reason = "The user name is not UTF-8 text."
	default:
		line.value = found[0]
		r.describe(&line, &proxyInput{}, nil)
	}
	r.lines = append(r.lines, line)
}

// describe completes a line with the members beside the address, and with the tags of the whole list.
func (r *importReader) describe(line *importLine, in *proxyInput, f faults) {
	in.Tags = opt[[]string]{Set: true, Value: f.tags("body.tags", slices.Concat(in.Tags.Value, r.tags))}
	if len(f) > 0 {
		line.reason = inWords(f)
		return
	}
	line.row = store.Proxy{Tags: "[]"}
	in.apply(&line.row)
}

// inWords names every fault of one line. No message repeats what was sent.
func inWords(f faults) string {
	parts := make([]string, len(f))
	for i, bad := range f {
		member := strings.TrimPrefix(strings.TrimPrefix(bad.Location, "body"), ".")
		parts[i] = strings.TrimPrefix(truncate(member, 60)+": "+truncate(bad.Message, 300), ": ")
	}
	return strings.Join(parts, " ")
}

// readInput checks a proxy that was read as members, as addProxy does.
func (r *importReader) readInput(n int, in *proxyInput, f faults) {
	if !in.Type.Set && !strings.Contains(in.URL.Value, "://") {
		in.Type = opt[string]{Set: true, Value: string(r.typ)}
	}
	line := importLine{number: n}
	if len(f) == 0 {
		line.value = in.create(&f)
	}
	r.describe(&line, in, f)
	r.lines = append(r.lines, line)
}

func (r *importReader) readJSON(body []byte, f *faults) *problem.Error {
	if err := tooMany(body, importValues); err != nil {
		f.add("body", err.Error()+" Nothing was imported. Import the list in parts.", nil)
		return nil
	}
	text := jsontext.Value(bytes.TrimSpace(body))
	if !text.IsValid() { // duplicate members and invalid UTF-8 too
		return problem.New(problem.Malformed, "malformed_json", "The body is not the JSON object that this operation takes.")
	}
	var members map[string]jsontext.Value
	if text.Kind() != '{' || json.Unmarshal(text, &members) != nil {
		f.add("body", `Send an object with "workspaceId" and "proxies".`, nil)
		return nil
	}
	for name, value := range members {
		switch name {
		case "workspaceId":
			f.require(json.Unmarshal(value, &r.workspace) == nil && r.workspace.Set, "body.workspaceId",
				"Enter the id of a workspace as text.")
		case "proxies":
		default:
			if len(*f) < maxFaults {
				f.add("body."+name, unknownMember, nil)
			}
		}
	}
	var list []jsontext.Value
	value := members["proxies"]
	isList := value.Kind() == '[' && json.Unmarshal(value, &list) == nil
	f.require(isList, "body.proxies", "Send a list of proxies, each as a text or as an object.")
	r.schemas = huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)
	r.schema = huma.SchemaFromType(r.schemas, reflect.TypeFor[proxyInput]())
	for i, value := range list {
		if r.full() {
			break
		}
		r.readValue(i+1, value)
	}
	return nil
}

// readValue reads a member of a JSON list: a string as a line, an object as addProxy does, by the same schema.
func (r *importReader) readValue(n int, value jsontext.Value) {
	if value.Kind() == '"' {
		var text string
		if json.Unmarshal(value, &text) == nil {
			r.readLine(n, text, true)
		}
		return
	}
	var f faults
	var v any
	var in proxyInput
	if err := tooMany(value, proxyValues); err != nil {
		f.add("body", err.Error(), nil)
	} else if err := errors.Join(json.Unmarshal(value, &v), json.Unmarshal(value, &in)); err != nil || value.Kind() != '{' {
		f.add("body", "Send the proxy as a text or as an object.", nil)
	} else {
		result := huma.ValidateResult{}
		huma.Validate(r.schemas, r.schema, huma.NewPathBuffer([]byte("body"), 4), huma.ModeWriteToServer, sanitizeNames(v), &result)
		for _, err := range result.Errors {
			var d *huma.ErrorDetail
			if errors.As(err, &d) {
				f = append(f, faultOf(d))
			}
		}
	}
	f.require(!in.WorkspaceID.Set, "body.workspaceId", "Name the workspace beside the list, not in it. All proxies go to the same one.")
	r.readInput(n, &in, f)
}

// csvColumn is a column that a header may name, and the way of its cells into a request.
type csvColumn struct {
	name   string
	spaces bool // spaces at both ends of a cell belong to it
	read   func(in *proxyInput, cell string) error
}

// csvColumns are the columns of a CSV file, in the order of an export. Free texts are written by textCell.
func csvColumns() []csvColumn {
	word := func(member func(*proxyInput) *opt[string], decode func(string) string) func(*proxyInput, string) error {
		return func(in *proxyInput, cell string) error {
			*member(in) = opt[string]{Set: true, Value: decode(cell)}
			return nil
		}
	}
	return []csvColumn{
		{"type", false, word(func(in *proxyInput) *opt[string] { return &in.Type }, asIs)},
		{"host", false, word(func(in *proxyInput) *opt[string] { return &in.Host }, asIs)},
		{"port", false, readPort},
		{"username", true, word(func(in *proxyInput) *opt[string] { return &in.Username }, asIs)},
		{"password", true, word(func(in *proxyInput) *opt[string] { return &in.Password }, asIs)},
		{"name", false, word(func(in *proxyInput) *opt[string] { return &in.Name }, cellText)},
		{"tags", false, func(in *proxyInput, cell string) error {
			in.Tags = opt[[]string]{Set: true, Value: cellTags(cellText(cell))}
			return nil
		}},
		{"notes", true, word(func(in *proxyInput) *opt[string] { return &in.Notes }, cellText)},
		{"rotateUrl", false, word(func(in *proxyInput) *opt[string] { return &in.RotateURL }, asIs)},
		{"url", false, word(func(in *proxyInput) *opt[string] { return &in.URL }, asIs)},
	}
}

func readPort(in *proxyInput, cell string) error {
	port, err := strconv.ParseUint(cell, 10, 16)
	in.Port = opt[int64]{Set: true, Value: int64(port)}
	if err != nil {
		return proxy.Sentence(enterPort)
	}
	return nil
}

// csvMembers are the names of csvColumns.
func csvMembers() (names []string) {
	for _, c := range csvColumns() {
		names = append(names, c.name)
	}
	return names
}

func (r *importReader) readCSV(text []byte, f *faults) {
	head, _, _ := bytes.Cut(text, []byte("\n"))
	file := csv.NewReader(bytes.NewReader(text))
	file.FieldsPerRecord, file.Comma = -1, separatorOf(head)
	header, err := file.Read()
	if err != nil {
		header = nil
	}
	columns := readHeader(header, f)
	for len(*f) == 0 && !r.full() {
		cells, err := file.Read()
		if err == io.EOF {
			return
		}
		var bad *csv.ParseError
		if errors.As(err, &bad) {
			r.lines = append(r.lines, importLine{number: bad.StartLine,
				reason: "This line is not valid CSV. Put a cell with quotes into quotes, and write each quote in it twice."})
			continue
		}
		if n, _ := file.FieldPos(0); strings.TrimSpace(strings.Join(cells, "")) != "" {
			r.readCells(n, columns, cells)
		}
	}
}

// readHeader gives each name of a CSV file's header its column.
func readHeader(header []string, f *faults) (columns []csvColumn) {
	known := csvColumns()
	names := strings.Join(csvMembers(), ", ")
	seen := map[string]bool{}
	for i, name := range header {
		at := slices.IndexFunc(known, func(c csvColumn) bool { return strings.EqualFold(c.name, strings.TrimSpace(name)) })
		if at < 0 || seen[known[at].name] {
			f.add(element("body.header", i), "Unknown or repeated column. The columns are "+names+".", nil)
			continue
		}
		columns = append(columns, known[at])
		seen[known[at].name] = true
	}
	f.require(seen["url"] || seen["host"] && seen["port"], "body",
		"Begin with a header line that names url, or host and port. The columns are "+names+".")
	return columns
}

// separatorOf is the first separator in a header.
func separatorOf(head []byte) rune {
	if i := bytes.IndexAny(head, ",;\t"); i >= 0 {
		return rune(head[i])
	}
	return ','
}

// readCells reads a line of a CSV file. An empty cell is an absent member.
func (r *importReader) readCells(n int, columns []csvColumn, cells []string) {
	var in proxyInput
	var f faults
	if len(cells) > len(columns) {
		f.add("body", "This line has more cells than the header. Check the commas.", nil)
		cells = cells[:len(columns)]
	}
	for i, cell := range cells {
		column := columns[i]
		if !utf8.ValidString(cell) {
			f.add("body."+column.name, "This is not UTF-8 text. Save the file as UTF-8.", nil)
			continue
		}
		if !column.spaces {
			cell = strings.TrimSpace(cell)
		}
		if cell == "" {
			continue
		}
		if err := column.read(&in, cell); err != nil {
			f.add("body."+column.name, err.Error(), nil)
		}
	}
	r.readInput(n, &in, f)
}

// cellTags reads a list of tags, separated by commas or as JSON. JSON allows commas in a tag.
func cellTags(cell string) (tags []string) {
	if strings.HasPrefix(cell, "[") && json.Unmarshal([]byte(cell), &tags) == nil {
		return tags
	}
	for tag := range strings.SplitSeq(cell, ",") {
		if strings.TrimSpace(tag) != "" {
			tags = append(tags, tag)
		}
	}
	return tags
}

// formula are the characters that begin a formula in a spreadsheet, in normal and full width.
const formula = "=+-@\t\r\n＝＋－＠"

// textCell makes a text safe for a spreadsheet: ' before what would be a formula, or before an ' before such. cellText is its
// opposite. Only free texts are written so; the address is never changed.
func textCell(s string) string {
	if rest := strings.TrimLeft(s, "'"); rest != "" && strings.IndexAny(rest, formula) == 0 {
		return "'" + s
	}
	return s
}

func cellText(cell string) string {
	if s, ok := strings.CutPrefix(cell, "'"); ok && textCell(s) == cell {
		return s
	}
	return cell
}
