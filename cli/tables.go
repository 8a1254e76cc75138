package cli

import (
	"fmt"
	"io"
	"net"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/term"
	"golang.org/x/text/width"
)

// Tables for people: relative times, sizes, colours on a terminal, and cells that are cut to its width.

// column is a column of a table.
type column struct {
	head string
	path string // of the member; "a:b" joins a host and a port, "a/never" has a word for nothing
}

// columnsOf reads "ID=id LAST_USED=lastUsedAt/never ADDRESS=host:port".
func columnsOf(spec string) (out []column) {
	for _, word := range strings.Fields(spec) {
		head, path, found := strings.Cut(word, "=")
		if !found {
			path = word
		}
		out = append(out, column{strings.ReplaceAll(head, "_", " "), path})
	}
	return out
}

// columns returns those of --columns, else the command's own, else those that the rows have.
func (s *session) columns(rows []any) []column {
	if asked := s.list("columns"); len(asked) > 0 {
		out := make([]column, len(asked))
		for i, path := range asked {
			out[i] = column{strings.ToUpper(path), path}
		}
		return out
	}
	if s.cmd.cols != "" {
		return columnsOf(s.cmd.cols)
	}
	var out []column
	if len(rows) > 0 {
		m, _ := rows[0].(map[string]any)
		for name := range m {
			out = append(out, column{strings.ToUpper(name), name})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].head < out[j].head })
	return out
}

func (s *session) printTable(rows []jsontext.Value) error {
	values := make([]any, len(rows))
	for i, row := range rows {
		var err error
		if values[i], err = decode(row); err != nil {
			return err
		}
	}
	columns := s.columns(values)
	var cells [][]string
	if !s.yes("no-headers") {
		heads := make([]string, len(columns))
		for i, c := range columns {
			heads[i] = harmless(c.head)
		}
		cells = append(cells, heads)
	}
	for _, v := range values {
		line := make([]string, len(columns))
		for i, c := range columns {
			line[i] = s.cell(v, c.path)
		}
		cells = append(cells, line)
	}
	return s.grid(cells, !s.yes("no-headers"))
}

// cell returns what a column shows of an object, on one line.
func (s *session) cell(object any, path string) string {
	if path == "@state" {
		return s.keyState(object)
	}
	path, nothing, _ := strings.Cut(path, "/")
	if host, port, ok := strings.Cut(path, ":"); ok {
		return oneLine(net.JoinHostPort(s.plain(host, member(object, host)), s.plain(port, member(object, port))))
	}
	if cell := s.plain(path, member(object, path)); cell != "" {
		return oneLine(cell)
	}
	return nothing
}

// keyState is what became of a key.
func (s *session) keyState(key any) string {
	expires, _ := member(key, "expiresAt").(string)
	at, err := time.Parse(time.RFC3339, expires)
	switch {
	case member(key, "revokedAt") != nil:
		return "revoked"
	case err == nil && !at.After(s.now):
		return "expired"
	}
	return "active"
}

func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(harmless(text), func(r rune) bool { return r == '\n' || r == '\t' }), " ")
}

// member returns a member by its dotted path, nil if there is none.
func member(object any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		m, ok := object.(map[string]any)
		if !ok {
			return nil
		}
		object = m[name]
	}
	return object
}

// plain writes a value for people. Members whose names end with At are times, with Ms durations, with Bytes sizes.
func (s *session) plain(path string, v any) string {
	name := path[strings.LastIndexByte(path, '.')+1:]
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return s.timeOr(name, x)
	case bool:
		if x {
			return "yes"
		}
		return "no"
	case int64:
		switch lower := strings.ToLower(name); {
		case strings.HasSuffix(name, "Ms"):
			return milliseconds(x)
		case strings.Contains(lower, "bytes"), lower == "size":
			return size(x)
		}
		return strconv.FormatInt(x, 10)
	case float64:
		return strconv.FormatFloat(x, 'g', 6, 64)
	case []any:
		words := make([]string, len(x))
		for i := range x {
			words[i] = s.plain(name, x[i])
		}
		return strings.Join(words, ",")
	}
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return ""
	}
	return string(b)
}

// timeOr writes a member that is a time: from now, or of the clock where each line is what happens. Other text stays.
func (s *session) timeOr(name, text string) string {
	at, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil, name != "at" && !strings.HasSuffix(name, "At"):
		return text
	case s.cmd != nil && s.cmd.shape == lines:
		return at.Local().Format(time.TimeOnly)
	}
	return ago(s.now, at)
}

// ago writes a time for people, from now.
func ago(now, at time.Time) string {
	d := now.Sub(at)
	form := "%s ago"
	if d < 0 {
		d, form = -d, "in %s"
	}
	switch {
	case d < 5*time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf(form, fmt.Sprintf("%d s", d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf(form, fmt.Sprintf("%d min", d/time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf(form, fmt.Sprintf("%d h", d/time.Hour))
	}
	return fmt.Sprintf(form, fmt.Sprintf("%d days", d/(24*time.Hour)))
}

// milliseconds writes a duration. What takes less than one has taken some time all the same.
func milliseconds(n int64) string {
	switch {
	case n < 1:
		return "< 1 ms"
	case n < 10_000:
		return fmt.Sprintf("%d ms", n)
	}
	return (time.Duration(n) * time.Millisecond).Round(time.Second).String()
}

// size writes a number of bytes.
func size(n int64) string {
	for _, unit := range []struct {
		name string
		at   int64
	}{{"GiB", 10 << 30}, {"MiB", 10 << 20}, {"KiB", 10 << 10}} {
		if n >= unit.at {
			return fmt.Sprintf("%d %s", n/(unit.at/10), unit.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// printMembers writes an object as a line for each member that has a value.
func (s *session) printMembers(object jsontext.Value) error {
	v, err := decode(object)
	if err != nil {
		return err
	}
	if _, ok := v.(map[string]any); !ok {
		return s.printYAML(object)
	}
	var lines [][]string
	d := jsontext.NewDecoder(strings.NewReader(string(object)))
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		key := name.String()
		if err := d.SkipValue(); err != nil {
			return err
		}
		lines = s.memberLines(lines, key, member(v, key))
	}
	return s.grid(lines, false)
}

// memberLines adds the lines of one member: of an object those of its members.
func (s *session) memberLines(lines [][]string, path string, v any) [][]string {
	m, ok := v.(map[string]any)
	if !ok || strings.Count(path, ".") > 1 {
		if text := oneLine(s.plain(path, v)); text != "" {
			lines = append(lines, []string{oneLine(path), text})
		}
		return lines
	}
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		lines = s.memberLines(lines, path+"."+name, m[name])
	}
	return lines
}

// gap stands between columns.
const gap = "  "

// grid writes lines of cells, as wide as the terminal at most: the widest column is cut.
func (s *session) grid(cells [][]string, head bool) error {
	widths := []int{}
	for _, line := range cells {
		for i, cell := range line {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], shown(cell))
		}
	}
	room := screenWidth(s.out)
	fit(widths, room)
	paint := s.painter()
	var out strings.Builder
	for n, line := range cells {
		left := room
		for i, cell := range line {
			if i > 0 {
				out.WriteString(gap)
				left -= len(gap)
			}
			if room > 0 && left <= 0 {
				break
			}
			cell = cut(cell, widths[i])
			if room > 0 {
				cell = cut(cell, left)
			}
			left -= widths[i]
			out.WriteString(paint(cell, head && n == 0))
			if i < len(line)-1 {
				out.WriteString(strings.Repeat(" ", max(0, widths[i]-shown(cell))))
			}
		}
		out.WriteByte('\n')
	}
	_, err := io.WriteString(s.out, trimmed(out.String(), room))
	return err
}

// trimmed takes the blanks from the ends of lines where a terminal would wrap them.
func trimmed(text string, room int) string {
	if room == 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// fit makes the widest columns narrower until all of them fit. 0 is room without an end.
func fit(widths []int, room int) {
	if room <= 0 || len(widths) == 0 {
		return
	}
	total := len(gap) * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for total > room {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= 3 {
			return
		}
		widths[widest]--
		total--
	}
}

// screenWidth is the width of the terminal behind w, 0 if it is none. COLUMNS wins.
func screenWidth(w io.Writer) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return max(n, 20)
	}
	if f := file(w); f != nil {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return max(n, 20)
		}
	}
	return 0
}

// shown is how many columns of a terminal a text takes.
func shown(text string) (n int) {
	for _, r := range text {
		n += columnsOfRune(r)
	}
	return n
}

func columnsOfRune(r rune) int {
	if r < utf8.RuneSelf {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// cut cuts a text to n columns, with … at its end.
func cut(text string, n int) string {
	if shown(text) <= n {
		return text
	}
	used := 0
	for i, r := range text {
		if used+columnsOfRune(r) > n-1 {
			return text[:i] + "…"
		}
		used += columnsOfRune(r)
	}
	return text
}

// Colours of states (ECMA-48, SGR).
const (
	bold, green, yellow, red, reset = "\x1b[1m", "\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[0m"
)

// colours of cells that are a state.
var colours = map[string]string{"running": green, "alive": green, "done": green, "passed": green, "starting": yellow, "stopping": yellow,
	"in_progress": yellow, "failed": red, "dead": red, "crashed": red, "revoked": red, "expired": red}

// painter returns what colours a cell: nothing unless the output is a terminal, or where NO_COLOR is set (no-color.org).
func (s *session) painter() func(cell string, head bool) string {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !terminal(s.out) {
		return func(cell string, _ bool) string { return cell }
	}
	return func(cell string, head bool) string {
		if head {
			return bold + cell + reset
		}
		if colour := colours[cell]; colour != "" {
			return colour + cell + reset
		}
		return cell
	}
}
