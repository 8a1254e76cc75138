package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"text/template"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// Writes objects as the flags ask for.

// templatePrefix begins the name of an output that is a template of text/template.
const templatePrefix = "go-template="

// format returns the name of the output: table, json, jsonl, yaml or go-template=….
func (s *session) format() (string, error) {
	f := cmp.Or(s.text("output"), "table")
	if s.yes("json") && !s.given["output"] {
		f = "json"
	}
	switch {
	case f == "table", f == "json", f == "jsonl", f == "yaml", strings.HasPrefix(f, templatePrefix):
		return f, nil
	}
	return "", misusef("--output %q must be table, json, jsonl, yaml or go-template=TEXT", f)
}

// tabular reports whether the output is for people.
func (s *session) tabular() bool {
	f, err := s.format()
	return err == nil && f == "table" && !s.yes("quiet")
}

// isLines reports whether a format prints each object by itself, as soon as it is there.
func isLines(format string) bool {
	return format == "jsonl" || strings.HasPrefix(format, templatePrefix)
}

// printList writes objects. JSON has them as {"data": […], "total": n}.
func (s *session) printList(rows []jsontext.Value) error {
	format, err := s.format()
	if err != nil {
		return err
	}
	switch {
	case s.yes("quiet"):
		return s.printIDs(rows)
	case format == "json":
		if rows == nil {
			rows = []jsontext.Value{}
		}
		text, err := json.Marshal(struct {
			Data  []jsontext.Value `json:"data"`
			Total int              `json:"total"`
		}{rows, len(rows)})
		if err != nil {
			return err
		}
		return s.printRaw(text)
	case format == "yaml":
		text, err := json.Marshal(rows)
		if err != nil {
			return err
		}
		return s.printYAML(text)
	case format == "table":
		return s.printTable(rows)
	}
	for _, row := range rows {
		if err := s.printAs(format, row); err != nil {
			return err
		}
	}
	return nil
}

// printObject writes one object.
func (s *session) printObject(object jsontext.Value) error {
	format, err := s.format()
	switch {
	case err != nil:
		return err
	case s.yes("quiet"):
		return s.printIDs([]jsontext.Value{object})
	case format == "yaml":
		return s.printYAML(object)
	case format == "table" && len(s.list("columns")) > 0:
		return s.printTable([]jsontext.Value{object})
	case format == "table":
		return s.printMembers(object)
	}
	return s.printAs(format, object)
}

// printAs writes an object as JSON on a line, or by a template.
func (s *session) printAs(format string, object jsontext.Value) error {
	source, ok := strings.CutPrefix(format, templatePrefix)
	if !ok {
		return s.printRaw(object)
	}
	t, err := template.New("output").Option("missingkey=zero").Funcs(template.FuncMap{"json": func(v any) (string, error) {
		b, err := json.Marshal(v, json.Deterministic(true))
		return string(b), err
	}}).Parse(source)
	if err != nil {
		return misusef("--output: the template cannot be read: %v", err)
	}
	value, err := decode(object)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, value); err != nil {
		return misusef("--output: the template fails: %v", err)
	}
	_, err = fmt.Fprintln(s.out, harmless(out.String()))
	return err
}

// printRaw writes JSON on one line.
func (s *session) printRaw(text jsontext.Value) error {
	text = text.Clone()
	if err := text.Compact(); err != nil {
		return fmt.Errorf("the server's answer is no JSON: %w", err)
	}
	_, err := fmt.Fprintln(s.out, escaped(string(text)))
	return err
}

// escaped writes what terminals obey, and JSON may hold as it is, as escapes of JSON.
func escaped(text string) string {
	if !strings.ContainsFunc(text, obeyed) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if obeyed(r) && r > unicode.MaxASCII || r == 0x7f {
			fmt.Fprintf(&out, `\u%04x`, r)
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

// obeyed reports whether a terminal acts on a character, or shows what follows in another order.
func obeyed(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}

// harmless returns text that does nothing to a terminal. Lines and tabs stay.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && obeyed(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

func (s *session) printIDs(rows []jsontext.Value) error {
	for _, row := range rows {
		value, err := decode(row)
		if err != nil {
			return err
		}
		if id := s.idOf(value); id != "" {
			if _, err := fmt.Fprintln(s.out, harmless(id)); err != nil {
				return err
			}
		}
	}
	return nil
}

// idOf returns the id of an object. A list of runs has their ids; what starts or stops profiles has those of the profiles.
func (s *session) idOf(object any) string {
	m, _ := object.(map[string]any)
	names := []string{"id", "runId", "name", "ticket", "path"}
	if s.cmd.shape == listed {
		names[0], names[1] = names[1], names[0]
	}
	for _, name := range names {
		if id, ok := m[name].(string); ok && id != "" {
			return id
		}
	}
	return ""
}

// decode returns a value of JSON. Whole numbers are int64, so that they are written as such.
func decode(text jsontext.Value) (any, error) {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("the server's answer is no JSON: %w", err)
	}
	return whole(v), nil
}

func whole(v any) any {
	switch x := v.(type) {
	case float64:
		if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			return int64(x)
		}
	case []any:
		for i := range x {
			x[i] = whole(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = whole(x[k])
		}
	}
	return v
}

// printYAML writes JSON as YAML. Members keep their order.
func (s *session) printYAML(text jsontext.Value) error {
	node, err := yamlNode(jsontext.NewDecoder(bytes.NewReader(text)))
	if err != nil {
		return err
	}
	encoder := yaml.NewEncoder(s.out)
	encoder.SetIndent(2)
	if err := encoder.Encode(node); err != nil {
		return err
	}
	return encoder.Close()
}

// yamlNode reads the next value of JSON as a node of YAML.
func yamlNode(d *jsontext.Decoder) (*yaml.Node, error) {
	t, err := d.ReadToken()
	if err != nil {
		return nil, fmt.Errorf("the server's answer is no JSON: %w", err)
	}
	switch t.Kind() {
	case '{', '[':
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		if t.Kind() == '[' {
			n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		}
		for k := d.PeekKind(); k != '}' && k != ']'; k = d.PeekKind() {
			child, err := yamlNode(d)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		if len(n.Content) == 0 {
			n.Style = yaml.FlowStyle
		}
		_, err := d.ReadToken()
		return n, err
	case '"':
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: t.String()}, nil
	case '0':
		tag := "!!int"
		if strings.ContainsAny(t.String(), ".eE") {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: t.String()}, nil
	case 'n':
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: t.String()}, nil
}

// fromYAML returns a body that was written as YAML or JSON, as JSON.
func fromYAML(text []byte) (any, error) {
	var v any
	if json.Unmarshal(text, &v) == nil {
		return v, nil
	}
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	b, err := json.Marshal(v) // YAML has values that JSON has not
	if err != nil {
		return nil, err
	}
	return v, json.Unmarshal(b, &v)
}

// copyTo writes an answer to the file of --output, which has its name when it is complete, or to standard output.
func (s *session) copyTo(from io.Reader, binary bool) error {
	path := cmp.Or(s.text("output"), "-")
	if path != "-" {
		return replaceFile(path, func(w io.Writer) error {
			_, err := io.Copy(w, from)
			return err
		})
	}
	if terminal(s.out) {
		if binary {
			return misusef("this is no text for a terminal: name a file with --output FILE")
		}
		text, err := io.ReadAll(from)
		if err == nil {
			_, err = io.WriteString(s.out, harmless(string(text)))
		}
		return err
	}
	_, err := io.Copy(s.out, from)
	return err
}
