package state

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Text is a text of a page. Pages may store half of a surrogate pair, which UTF-8 has not. In memory it has the three bytes that UTF-8
// would give it (WTF-8), and in JSON it is an escape.
type Text string

// UnmarshalJSON reads a string. Escapes of half a pair stay what they are; encoding/json would replace them.
func (t *Text) UnmarshalJSON(b []byte) error {
	if !strings.Contains(string(b), `\u`) {
		return json.Unmarshal(b, (*string)(t))
	}
	if !json.Valid(b) || b[0] != '"' {
		return fmt.Errorf("not a string")
	}
	var out []byte
	for rest := string(b[1 : len(b)-1]); rest != ""; {
		end := max(strings.IndexByte(rest[1:], '\\')+1, 0)
		switch {
		case rest[0] != '\\' && end == 0:
			out, rest = append(out, rest...), ""
		case rest[0] != '\\':
			out, rest = append(out, rest[:end]...), rest[end:]
		case rest[1] != 'u':
			out, rest = append(out, simpleEscapes[rest[1]]), rest[2:]
		default:
			var r rune
			r, rest = escaped(rest)
			out = appendWTF8(out, r)
		}
	}
	*t = Text(out)
	return nil
}

// simpleEscapes are the escapes of one letter (RFC 8259, 7).
var simpleEscapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escaped reads an escape of four digits, or of a pair, from a valid text. It returns the rest.
func escaped(s string) (rune, string) {
	unit := func(s string) rune {
		n, _ := strconv.ParseUint(s[2:6], 16, 16) // valid JSON has four digits there
		return rune(n)
	}
	r, rest := unit(s), s[6:]
	if strings.HasPrefix(rest, `\u`) {
		if pair := utf16.DecodeRune(r, unit(rest)); pair != utf8.RuneError {
			return pair, rest[6:]
		}
	}
	return r, rest
}

// appendWTF8 appends a code point, also half of a pair.
func appendWTF8(b []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(b, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(b, r)
}

// MarshalJSON writes a string.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	out := []byte{'"'}
	for rest := string(t); rest != ""; {
		n := 0
		for n < len(rest) && half(rest[n:]) == 0 {
			n++
		}
		part, err := json.Marshal(rest[:n])
		if err != nil {
			return nil, err
		}
		out = append(out, part[1:len(part)-1]...)
		if rest = rest[n:]; rest != "" {
			out, rest = fmt.Appendf(out, `\u%04x`, half(rest)), rest[3:]
		}
	}
	return append(out, '"'), nil
}

// half returns the half of a surrogate pair that a text begins with; 0: none.
func half(s string) rune {
	if len(s) < 3 || s[0] != 0xed || s[1] < 0xa0 || s[1] > 0xbf || s[2]&0xc0 != 0x80 {
		return 0
	}
	return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f)
}

// TextOf returns the text of UTF-16 units.
func TextOf(units []uint16) Text {
	var out []byte
	for i := 0; i < len(units); i++ {
		r := rune(units[i])
		if i+1 < len(units) {
			if pair := utf16.DecodeRune(r, rune(units[i+1])); pair != utf8.RuneError {
				r = pair
				i++
			}
		}
		out = appendWTF8(out, r)
	}
	return Text(out)
}
