package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"warren/shim"
	"warren/store"
)

// LogLine is one line of what a run said.
type LogLine struct {
	At     *time.Time `json:"at,format:'2006-01-02T15:04:05.000Z07:00'" doc:"null: the line has no time." example:"2026-11-21T14:06:00.000Z"`
	Source string     `json:"source" enum:"run,browser" doc:"Who said it: the run's process, or its browser."`
	Level  string     `json:"level" doc:"Of the run's process: debug, info, warn or error. Of the browser: empty."`
	Text   string     `json:"text" doc:"Without control characters and addresses, cut after 1,000 bytes."`
}

// Log is what a run said last.
type Log struct {
	RunID   string    `json:"runId"`
	Running bool      `json:"running" doc:"false: nothing more will come."`
	Data    []LogLine `json:"data" doc:"Oldest first: the lines of the run's process, then those of its browser."`
}

// maxLogText is how many bytes of a line are answered.
const maxLogText = 1000

// addresses are what lines name of the web, of proxies and of files. A page's address may hold secrets.
var addresses = regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.-]{1,15}://|(file|data|blob|about|javascript|view-source):)[^\s"'<>]+`)

// LogOf returns the last lines of a run's process and what its browser printed last. Of an ended run the history has the browser's lines.
func (m *Manager) LogOf(ctx context.Context, row store.Run, lines int) (Log, error) {
	out := Log{RunID: row.ID, Data: []LogLine{}}
	r := m.runOf(row.ProfileID)
	if row.EndedAt != nil || r == nil || r.id != row.ID || r.client == nil {
		past, err := m.PastRun(ctx, row)
		out.add("browser", past.Lines)
		return out, err
	}
	out.Running = true
	text, err := shim.LogTail(m.dir, Name(row.ID))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, fmt.Errorf("the log of run %s: %w", row.ID, err)
	}
	said := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range said[max(0, len(said)-lines):] {
		if line != "" {
			out.Data = append(out.Data, parseLogLine(line))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, statsTime)
	defer cancel()
	if printed, err := r.client.Output(ctx); err == nil { // one that does not answer has a log all the same
		out.add("browser", printed)
	}
	return out, nil
}

func (l *Log) add(source string, lines []string) {
	for _, line := range lines {
		l.Data = append(l.Data, LogLine{Source: source, Text: cleanLogText(line)})
	}
}

// parseLogLine reads a line of log/slog's JSON. Anything else, such as a panic, is text.
func parseLogLine(line string) LogLine {
	var members map[string]any
	if json.Unmarshal([]byte(line), &members) != nil {
		return LogLine{Source: "run", Text: cleanLogText(line)}
	}
	out := LogLine{Source: "run"}
	if t, ok := members["time"].(string); ok {
		if at, err := time.Parse(time.RFC3339, t); err == nil {
			out.At = new(at.UTC())
		}
	}
	level, _ := members["level"].(string)
	out.Level = strings.ToLower(level)
	text, _ := members["msg"].(string)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains([]string{"time", "level", "msg"}, name) {
			text += fmt.Sprintf(" %s=%v", name, members[name])
		}
	}
	out.Text = cleanLogText(text)
	return out
}

// cleanLogText removes what terminals obey, and addresses but for their scheme, and cuts the line.
func cleanLogText(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text)
	text = addresses.ReplaceAllStringFunc(text, func(found string) string {
		scheme, _, _ := strings.Cut(found, ":")
		return scheme + ":…"
	})
	if len(text) <= maxLogText {
		return text
	}
	for n := maxLogText; ; n-- {
		if cmp.Compare(n, 0) == 0 || utf8.RuneStart(text[n]) {
			return text[:n] + "…"
		}
	}
}
