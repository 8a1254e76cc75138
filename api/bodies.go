package api

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"warren/proxy"
)

// Limits what a JSON body may hold before it is parsed in full. Checking a body against its schema allocates for each value, and 1
// MiB can hold half a million values.

// maxBody is the largest request body of most operations, in bytes.
const maxBody = 1 << 20

// maxCodeBody is the largest body of POST /session-keys, in bytes.
const maxCodeBody = 1 << 10

// maxValues is how many values and member names a body may have. The largest list of ids (maxChecked) needs less than half.
const maxValues = 25_000

// importValues is the limit of values for a list of proxies to import, and proxyValues for one proxy in it.
const (
	importValues = 50 * maxImportLines
	proxyValues  = 500
)

// maxMember is how many bytes of a member name are kept. Every known name is shorter than a quarter of it.
const maxMember = 120

// tooMany returns an error if data has more values and names than most. Invalid JSON is not its business: the decoder reports it.
func tooMany(data []byte, most int) error {
	// so that the decoder stores no names
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for n := 0; ; {
		t, err := d.ReadToken()
		switch {
		case err != nil: // its end too
			return nil
		case t.Kind() == '}' || t.Kind() == ']':
			continue
		}
		if n++; n > most {
			return proxy.Sentence(fmt.Sprintf("The body holds more than %d values.", most))
		}
	}
}

// readBody decodes JSON strictly: duplicate members and invalid UTF-8 are errors. Names in a body for the schema check are
// sanitized.
func readBody(data []byte, v any) error {
	free, checked := v.(*any)
	if checked {
		if err := tooMany(data, maxValues); err != nil {
			return err
		}
	}
	err := json.Unmarshal(data, v)
	if err == nil && checked {
		*free = sanitizeNames(*free)
	}
	return err
}

// sanitizeNames replaces dots and brackets in member names and truncates long names. huma joins the names of nested members with
// dots, and removes the last part by searching for a dot or bracket (v2.37.2, validate.go, Pop). Such a character inside a name
// would leave a piece behind. With thousands of them each path would be as long as all before it together. Names that become equal
// are reported once.
func sanitizeNames(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = sanitizeNames(v[i])
		}
	case map[string]any:
		other := strings.NewReplacer(".", "_", "[", "_")
		for name, value := range v {
			plain := other.Replace(truncate(name, maxMember))
			if plain != name {
				delete(v, name)
			}
			v[plain] = sanitizeNames(value)
		}
	}
	return v
}
