package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
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
	typ       proxy.Type // of lines that name none
	tags      []string   // for every line
	registry  huma.Registry
	workspace opt[string] // as a JSON list names it
	lines     []importLine
}

// full says whether a line more is already too many: nothing is imported then, and the rest need not be read.
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

// readLine reads a proxy from one text. needed: nothing is not enough.
func (r *importReader) readLine(n int, text string, needed bool) {
	found, err := proxy.ReadLine(text, r.typ)
	if len(found) == 0 && err == nil && !needed {
		return
	}
	line := importLine{number: n}
	switch {
	case err != nil:
		line.reason = err.Error()
	case len(found) == 0:
		line.reason = "is empty"
	case len(found) > 1:
		line.readings = proxy.Readings(found)
	case !utf8.ValidString(found[0].Username): // out of a URL's %XX
		line.reason = "username must be UTF-8"
	default:
		line.value = found[0]
		r.describe(&line, &proxyInput{}, nil)
	}
	r.lines = append(r.lines, line)
}

// describe completes a line that has been read: what is no part of the address, and the tags of all.
func (r *importReader) describe(line *importLine, in *proxyInput, f faults) {
	in.Tags.Value = f.tags("body.tags", slices.Concat(in.Tags.Value, r.tags))
	in.Tags.Set, in.Tags.Null = true, false
	if len(f) > 0 {
		line.reason = inWords(f)
		return
	}
	line.row = store.Proxy{Tags: "[]"}
	in.apply(&line.row)
}

// inWords tells every fault of one line. No message repeats what was sent.
func inWords(f faults) string {
	parts := make([]string, len(f))
	for i, bad := range f {
		member := strings.TrimPrefix(strings.TrimPrefix(bad.Location, "body"), ".")
		parts[i] = strings.TrimSpace(atMost(member, 60) + " " + atMost(bad.Message, 300))
	}
	return strings.Join(parts, "; ")
}

// readInput reads a proxy from its members, as add takes them.
func (r *importReader) readInput(n int, in *proxyInput, f faults) {
	if !in.URL.Set && !in.Type.Set {
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
		f.add("body", err.Error()+": nothing was imported. Send it in parts", nil)
		return nil
	}
	text := jsontext.Value(bytes.TrimSpace(body))
	if !text.IsValid() { // members that stand twice and what is no UTF-8 too
		return problem.New(problem.Malformed, "malformed_json", "The body is not the JSON object that this operation takes.")
	}
	var members map[string]jsontext.Value
	if text.Kind() != '{' || json.Unmarshal(text, &members) != nil {
		f.add("body", `must be an object {"workspaceId","proxies"}`, nil)
		return nil
	}
	for name, value := range members {
		switch name {
		case "workspaceId":
			if err := json.Unmarshal(value, &r.workspace); err != nil || !r.workspace.Set {
				f.add("body.workspaceId", "must be a string", nil)
			}
		case "proxies":
		default:
			if len(*f) < maxFaults {
				f.add("body."+name, "is not a member of this object", nil)
			}
		}
	}
	var list []jsontext.Value
	if value := members["proxies"]; value.Kind() != '[' || json.Unmarshal(value, &list) != nil {
		f.add("body.proxies", "must be a list of proxies, each an object as for add or a string", nil)
	}
	for i, value := range list {
		if r.full() {
			break
		}
		r.readValue(i+1, value)
	}
	return nil
}

// readValue reads a member of a JSON list: a string as a line, an object as add does, by the same schema.
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
		f.add("body", "is neither a string nor an object", nil)
	} else {
		schema := &huma.Schema{Ref: "#/components/schemas/ProxyInput"}
		result := huma.ValidateResult{}
		huma.Validate(r.registry, schema, huma.NewPathBuffer([]byte("body"), 4), huma.ModeWriteToServer, harmless(v), &result)
		for _, err := range result.Errors {
			var d *huma.ErrorDetail
			if errors.As(err, &d) {
				f = append(f, faultOf(d))
			}
		}
	}
	if in.WorkspaceID.Set {
		f.add("body.workspaceId", "stands beside the list: all of it goes to one workspace", nil)
	}
	r.readInput(n, &in, f)
}

// csvMembers are the columns that a header may name.
func csvMembers() []string {
	return []string{"type", "host", "port", "username", "password", "name", "tags", "notes", "rotateUrl", "url"}
}

func (r *importReader) readCSV(text []byte, f *faults) {
	head, _, _ := bytes.Cut(text, []byte("\n"))
	c := csv.NewReader(bytes.NewReader(text))
	c.FieldsPerRecord, c.Comma = -1, separatorOf(head)
	columns, err := c.Read()
	if err != nil {
		columns = nil
	}
	known := csvMembers()
	seen := map[string]bool{}
	for i, name := range columns {
		at := slices.IndexFunc(known, func(m string) bool { return strings.EqualFold(m, strings.TrimSpace(name)) })
		if at < 0 || seen[known[at]] {
			f.add(fmt.Sprintf("body.header[%d]", i), "is no name of a column, or stands twice; the columns are "+strings.Join(known, ", "), nil)
			continue
		}
		columns[i] = known[at]
		seen[known[at]] = true
	}
	if !seen["url"] && !(seen["host"] && seen["port"]) {
		f.add("body", "must begin with a header line that names url, or host and port; the columns are "+strings.Join(known, ", "), nil)
	}
	if len(*f) > 0 {
		return
	}
	for !r.full() {
		cells, err := c.Read()
		if err == io.EOF {
			return
		}
		var bad *csv.ParseError
		if errors.As(err, &bad) {
			r.lines = append(r.lines, importLine{number: bad.StartLine, reason: "is no CSV: a cell with a quote in it stands in quotes, and each quote in it twice"})
			continue
		}
		if n, _ := c.FieldPos(0); strings.TrimSpace(strings.Join(cells, "")) != "" {
			r.readCells(n, columns, cells)
		}
	}
}

// separatorOf is what stands first between the names of a header.
func separatorOf(head []byte) rune {
	if i := bytes.IndexAny(head, ",;\t"); i >= 0 {
		return rune(head[i])
	}
	return ','
}

// readCells reads a line of a CSV file. An empty cell is as none.
func (r *importReader) readCells(n int, columns, cells []string) {
	var in proxyInput
	var f faults
	if len(cells) > len(columns) {
		f.add("body", "has more cells than the header", nil)
		cells = cells[:len(columns)]
	}
	for i, cell := range cells {
		if !utf8.ValidString(cell) {
			f.add("body."+columns[i], "is not UTF-8", nil)
			continue
		}
		bare := strings.TrimSpace(cell)
		if bare == "" && !slices.Contains([]string{"password", "username", "notes"}, columns[i]) || cell == "" {
			continue
		}
		text := opt[string]{Set: true, Value: bare}
		switch columns[i] {
		case "type":
			in.Type = text
		case "host":
			in.Host = text
		case "port":
			port, err := strconv.ParseUint(bare, 10, 16)
			if err != nil {
				f.add("body.port", "must be a number from 1 to 65535", nil)
			}
			in.Port = opt[int64]{Set: true, Value: int64(port)}
		case "username":
			in.Username = opt[string]{Set: true, Value: cell}
		case "password":
			in.Password = opt[string]{Set: true, Value: cell}
		case "name":
			in.Name = opt[string]{Set: true, Value: cellText(bare)}
		case "tags":
			in.Tags = opt[[]string]{Set: true, Value: cellTags(cellText(bare))}
		case "notes":
			in.Notes = opt[string]{Set: true, Value: cellText(cell)}
		case "rotateUrl":
			in.RotateURL = text
		case "url":
			in.URL = text
		}
	}
	r.readInput(n, &in, f)
}

// cellTags reads a list of tags: with commas between, or as JSON, which may have commas in a tag.
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

// formula is what a spreadsheet takes for the beginning of one, in the widths that it knows.
const formula = "=+-@\t\r\n＝＋－＠"

// textCell makes a text safe for a spreadsheet: ' before what would be a formula, or before an ' before such. cellText is its
// opposite. Only free texts are written so; what belongs to the address is never changed.
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
