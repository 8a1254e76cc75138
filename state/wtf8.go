package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Strings of JavaScript may have half a surrogate pair. A Go string has it as the three bytes that UTF-8 would have for it (WTF-8), and
// JSON has its escape. So it comes back as it was.

// MarshalJSON implements json.Marshaler. Half a surrogate pair is written as its escape.
func (i Item) MarshalJSON() ([]byte, error) {
	b, err := appendText([]byte(`{"name":`), i.Name)
	if err != nil {
		return nil, err
	}
	b, err = appendText(append(b, `,"value":`...), i.Value)
	return append(b, '}'), err
}

// UnmarshalJSON implements json.Unmarshaler. A member that is no text is an error.
func (i *Item) UnmarshalJSON(text []byte) error {
	var raw struct{ Name, Value json.RawMessage }
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	if len(raw.Name) == 0 || raw.Name[0] != '"' || len(raw.Value) == 0 || raw.Value[0] != '"' {
		return errors.New("an entry of localStorage needs a name and a value")
	}
	i.Name, i.Value = unquote(raw.Name), unquote(raw.Value)
	return nil
}

// appendText appends text as JSON.
func appendText(b []byte, s string) ([]byte, error) {
	if utf8.ValidString(s) {
		return jsontext.AppendQuote(b, s)
	}
	b = append(b, '"')
	for len(s) > 0 {
		if half, ok := halfAt(s); ok {
			b = fmt.Appendf(b, `\u%04x`, half)
			s = s[3:]
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n < 2 {
			return b, errors.New("a text of storage is no text")
		}
		quoted, err := jsontext.AppendQuote(nil, s[:n])
		if err != nil {
			return b, err
		}
		b = append(b, quoted[1:len(quoted)-1]...)
		s = s[n:]
	}
	return append(b, '"'), nil
}

// halfAt returns the half of a surrogate pair that s begins with.
func halfAt(s string) (rune, bool) {
	if len(s) < 3 || s[0] != 0xed || s[1] < 0xa0 || s[1] > 0xbf || s[2]&0xc0 != 0x80 {
		return 0, false
	}
	return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), true
}

func appendHalf(b []byte, r rune) []byte {
	return append(b, 0xed, 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
}

// FromUTF16 returns the text of UTF-16 code units, halves of pairs too.
func FromUTF16(units []uint16) string {
	var out []byte
	for i := 0; i < len(units); i++ {
		first := rune(units[i])
		switch {
		case i+1 < len(units) && utf16.DecodeRune(first, rune(units[i+1])) != utf8.RuneError:
			i++
			out = utf8.AppendRune(out, utf16.DecodeRune(first, rune(units[i])))
		case utf16.IsSurrogate(first):
			out = appendHalf(out, first)
		default:
			out = utf8.AppendRune(out, first)
		}
	}
	return string(out)
}

// unquote returns the text of a JSON string, which is known to be one.
func unquote(raw []byte) string {
	if text, err := jsontext.AppendUnquote(nil, raw); err == nil {
		return string(text)
	}
	out := make([]byte, 0, len(raw))
	for s := raw[1 : len(raw)-1]; len(s) > 0; {
		if s[0] != '\\' {
			out, s = append(out, s[0]), s[1:]
			continue
		}
		if s[1] != 'u' {
			text, _ := jsontext.AppendUnquote(nil, []byte{'"', '\\', s[1], '"'}) //nolint:errcheck // an escape of a valid string
			out, s = append(out, text...), s[2:]
			continue
		}
		first, rest := unit(s), s[6:]
		if len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' && utf16.DecodeRune(first, unit(rest)) != utf8.RuneError {
			out, s = utf8.AppendRune(out, utf16.DecodeRune(first, unit(rest))), rest[6:]
			continue
		}
		if utf16.IsSurrogate(first) {
			out = appendHalf(out, first)
		} else {
			out = utf8.AppendRune(out, first)
		}
		s = rest
	}
	return string(out)
}

// unit returns the code unit of an escape of four hexadecimal digits.
func unit(escape []byte) rune {
	n, _ := strconv.ParseUint(string(escape[2:6]), 16, 16) //nolint:errcheck // an escape of a valid string
	return rune(n)
}
