package live

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Limits, in bytes, of what viewers are told of a page's own words. A page may have an address of 2 MiB, and change it many times a second.
const (
	maxAddress = 4 << 10
	maxTitle   = 1 << 10
	maxDialog  = 64 << 10 // of a dialog's text, which Chrome cuts sooner
)

// truncate returns at most n bytes of text, without half a character at the end. The result does not keep the whole text in memory.
func truncate(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.Clone(strings.ToValidUTF8(text[:n], ""))
}

// encode returns the JSON of a message. It does not escape HTML: an address full of ampersands would become six times as long.
func encode(message any) []byte {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(message) // plain values always marshal
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}
