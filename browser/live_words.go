package browser

import (
	"bytes"
	"encoding/json"
	"strings"
)

// This file bounds what pages say before viewers are told: a page may have an address of 2 MiB, and another one many times a second.

const (
	maxAddress = 4 << 10  // bytes of an address that viewers are told
	maxTitle   = 1 << 10  // and of a title
	maxAsked   = 64 << 10 // and of what a dialog says, which Chrome cuts sooner
)

// cut is text of n bytes at most, without a part of a letter at its end. It does not keep the whole text alive.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.Clone(strings.ToValidUTF8(text[:n], ""))
}

// encoded is a message as viewers get it. What HTML would read otherwise stays as it is: nobody reads this as HTML, and an address may be all ampersands,
// which would become six times as long.
func encoded(message any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	err := e.Encode(message)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}
