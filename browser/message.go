package browser

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// A DevTools message is one JSON object: {"id","method","params","sessionId"} for a command, {"id","result"|"error","sessionId"} for its
// answer, {"method","params","sessionId"} for an event. Only these outer members are read and rewritten here:
//   - A message of Chrome is trusted to be JSON. It is scanned once and changed in place; spaces fill the gaps. So a message of 100 MiB is
//     not copied.
//   - A message of a client is validated and rebuilt from the members that were understood. So Chrome never sees a member that was read
//     differently here.
//   - A client's message cannot contain a NUL, which would end it on the pipe and begin another one.

// maxDepth is the deepest nesting of a client's message. Chrome's own parser gives up at 300, and then answers without an id.
const maxDepth = 290

var (
	errNotObject = errors.New("message must be a JSON object")
	errDepth     = errors.New("message nests too deep")
)

// span is the part of a message from byte from up to, but not including, byte to. The zero span means that the part is missing.
type span struct{ from, to int }

func (s span) in(msg []byte) []byte { return msg[s.from:s.to] }
func (s span) there() bool          { return s.to > s.from }

// envelope holds the positions of a message's outer members. Spans are those of values; sessionMember also includes key, colon and one
// comma.
type envelope struct {
	id, method, params, session span
	sessionMember               span
	other                       bool // there is an unknown member, or a known one twice
}

// scan finds the outer members of msg, whose values nest at most depth levels. Inner parts are skipped.
func scan(msg []byte, depth int) (envelope, error) {
	var e envelope
	i := skipSpace(msg, 0)
	if i >= len(msg) || msg[i] != '{' {
		return e, errNotObject
	}
	comma := -1
	for i = skipSpace(msg, i+1); i < len(msg) && msg[i] == '"'; {
		key := span{from: i}
		key.to = skipString(msg, i)
		i = skipSpace(msg, key.to)
		if i >= len(msg) || msg[i] != ':' {
			return e, errNotObject
		}
		value := span{from: skipSpace(msg, i+1)}
		var err error
		if value.to, err = skipValue(msg, value.from, depth); err != nil {
			return e, err
		}
		i = skipSpace(msg, value.to)
		e.setMember(msg, key, value, comma, i)
		if i >= len(msg) || msg[i] != ',' {
			break
		}
		comma = i
		i = skipSpace(msg, i+1)
	}
	if i >= len(msg) || msg[i] != '}' {
		return e, errNotObject
	}
	return e, nil
}

// setMember records one member. comma is the position of the comma before it or -1, next that of what follows the value.
func (e *envelope) setMember(msg []byte, key, value span, comma, next int) {
	var known *span
	switch string(key.in(msg)) {
	case `"id"`:
		known = &e.id
	case `"method"`:
		known = &e.method
	case `"params"`:
		known = &e.params
	case `"sessionId"`:
		known = &e.session
	}
	if known == nil || known.there() {
		e.other = true
		return
	}
	*known = value
	if known == &e.session {
		e.sessionMember = span{key.from, value.to}
		if comma >= 0 {
			e.sessionMember.from = comma
		} else if next < len(msg) && msg[next] == ',' {
			e.sessionMember.to = next + 1
		}
	}
}

// invalid returns what is wrong with a command, in Chrome's words; "" if nothing is.
func (e *envelope) invalid(msg []byte) string {
	_, isInteger := integer(msg, e.id)
	switch {
	case !isInteger:
		return "Message must have integer 'id' property"
	case !isText(msg, e.method):
		return "Message must have string 'method' property"
	case e.session.there() && !isText(msg, e.session):
		return "Message may have string 'sessionId' property"
	case e.other:
		return "Message has property other than 'id', 'method', 'sessionId', 'params'"
	}
	return ""
}

func isText(msg []byte, s span) bool { return s.there() && msg[s.from] == '"' }

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the position after the string that starts at i.
func skipString(b []byte, i int) int {
	for i++; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		i += n
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		i++
		if slashes%2 == 0 {
			return i
		}
	}
	return i
}

// skipValue returns the position after the value that starts at i.
func skipValue(b []byte, i, limit int) (int, error) {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
		case '{', '[':
			depth++
			if depth > limit {
				return i, errDepth
			}
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			i++
			continue
		default:
			for i++; i < len(b) && !endsScalar(b[i]); i++ {
			}
		}
		if depth <= 0 {
			return i, nil
		}
	}
	return i, errNotObject
}

// endsScalar reports whether c ends a number or a literal.
func endsScalar(c byte) bool {
	return c == ',' || c == '}' || c == ']' || c == ':' || c <= ' '
}

// text returns the string value at s, "" if it is missing or no string.
func text(msg []byte, s span) string {
	raw := s.in(msg)
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var v string
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	return v
}

// integer returns the integer at s.
func integer(msg []byte, s span) (int64, bool) {
	n, err := strconv.ParseInt(string(s.in(msg)), 10, 32)
	return n, err == nil
}

// replace replaces s by with, in the same memory if it fits.
func replace(msg []byte, s span, with []byte) []byte {
	if room := s.to - s.from; len(with) <= room {
		n := copy(msg[s.from:s.to], with)
		blank(msg, span{s.from + n, s.to})
		return msg
	}
	out := make([]byte, 0, len(msg)+len(with))
	out = append(out, msg[:s.from]...)
	out = append(out, with...)
	return append(out, msg[s.to:]...)
}

// blank fills s with spaces, which JSON allows between members.
func blank(msg []byte, s span) {
	for i := s.from; i < s.to; i++ {
		msg[i] = ' '
	}
}

// command is a command for Chrome.
type command struct {
	id      int64
	session string // "" for the root session
	method  string
	params  []byte // JSON or nil
}

// encode returns the command as Chrome's pipe expects it, with a NUL at the end.
func (c command) encode() []byte {
	b := make([]byte, 0, len(c.params)+len(c.method)+len(c.session)+64)
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, c.id, 10)
	if c.session != "" {
		b = append(b, `,"sessionId":`...)
		b = appendString(b, c.session)
	}
	b = append(b, `,"method":`...)
	b = appendString(b, c.method)
	if len(c.params) > 0 {
		b = append(b, `,"params":`...)
		b = append(b, c.params...)
	}
	return append(b, '}', 0)
}

func appendString(b []byte, s string) []byte {
	quoted, _ := json.Marshal(s) // a string always marshals
	return append(b, quoted...)
}

// wellFormed reports whether a client's message is one JSON value in UTF-8. JSON allows no NUL.
func wellFormed(msg []byte) bool {
	return utf8.Valid(msg) && json.Valid(msg)
}

// members returns all values of each member of a JSON object, nil for anything else. A name may occur more than once.
func members(raw []byte) map[string][]json.RawMessage {
	in := json.NewDecoder(bytes.NewReader(raw))
	if first, err := in.Token(); err != nil || first != json.Delim('{') {
		return nil
	}
	out := map[string][]json.RawMessage{}
	for in.More() {
		key, err := in.Token()
		var value json.RawMessage
		if err != nil || in.Decode(&value) != nil {
			return out
		}
		name, _ := key.(string)
		out[name] = append(out[name], value)
	}
	return out
}

// texts returns the values that are strings.
func texts(values []json.RawMessage) (out []string) {
	for _, v := range values {
		var s *string
		if json.Unmarshal(v, &s) == nil && s != nil {
			out = append(out, *s)
		}
	}
	return out
}

// stringsOf returns the strings within the values that are lists.
func stringsOf(values []json.RawMessage) (out []string) {
	for _, v := range values {
		var list []json.RawMessage
		if json.Unmarshal(v, &list) == nil {
			out = append(out, texts(list)...)
		}
	}
	return out
}
