package store

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// rowList is a JSON array of arrays, for a statement that takes many rows. Writing it without reflection costs a fourth.
type rowList struct {
	b   []byte
	err error
}

// newRowList returns an empty list with room for rows.
func newRowList(rows int) *rowList { return &rowList{b: append(make([]byte, 0, 256*rows), '[')} }

// add appends a row of strings, integers and bytes, which become hexadecimal. A nil pointer and nil bytes become null.
func (l *rowList) add(values ...any) {
	if len(l.b) > 1 {
		l.b = append(l.b, ',')
	}
	l.b = append(l.b, '[')
	for i, v := range values {
		if i > 0 {
			l.b = append(l.b, ',')
		}
		l.value(v)
	}
	l.b = append(l.b, ']')
}

func (l *rowList) value(v any) {
	switch v := v.(type) {
	case string:
		l.quote(v)
	case int64:
		l.b = strconv.AppendInt(l.b, v, 10)
	case *string:
		if v == nil {
			l.b = append(l.b, "null"...)
			return
		}
		l.quote(*v)
	case []byte:
		if v == nil {
			l.b = append(l.b, "null"...)
			return
		}
		l.b = append(hex.AppendEncode(append(l.b, '"'), v), '"')
	default:
		l.err = errors.New("a row holds a value of another type")
	}
}

func (l *rowList) quote(s string) {
	b, err := jsontext.AppendQuote(l.b, s)
	l.b, l.err = b, errors.Join(l.err, err)
}

// text ends the list. It fails on a text that is not UTF-8.
func (l *rowList) text() (string, error) { return string(append(l.b, ']')), l.err }

// jsonText encodes a list for a query, or a place.
func jsonText(v any) *string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	s := string(text)
	return &s
}
