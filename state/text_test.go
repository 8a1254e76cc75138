package state

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// TestTextIsUTF16: any sequence of UTF-16 units comes out of JSON and back as it is.
func TestTextIsUTF16(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		odd := rapid.SampledFrom([]uint16{'"', '\\', 0, '\n', '<'})
		units := rapid.SliceOf(rapid.OneOf(rapid.Uint16(), rapid.Uint16Range(0xd7ff, 0xe000), odd)).Draw(t, "units")
		var in strings.Builder
		in.WriteByte('"')
		for _, u := range units {
			in.WriteString(`\u` + hex4(u))
		}
		in.WriteByte('"')
		var text, again Text
		if err := json.Unmarshal([]byte(in.String()), &text); err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &again); err != nil || again != text {
			t.Fatalf("%q became %q (%v)", text, again, err)
		}
		var got []uint16
		for rest := string(text); rest != ""; {
			if h := half(rest); h != 0 {
				got, rest = append(got, uint16(h)), rest[3:]
				continue
			}
			r := []rune(rest)[0]
			got, rest = append(got, utf16.Encode([]rune{r})...), rest[len(string(r)):]
		}
		if string(utf16.Decode(got)) != string(utf16.Decode(units)) || len(got) != len(units) {
			t.Fatalf("%x became %x", units, got)
		}
	})
}

func hex4(u uint16) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[u>>12], digits[u>>8&15], digits[u>>4&15], digits[u&15]})
}
