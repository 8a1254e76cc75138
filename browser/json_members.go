package browser

import (
	"bytes"
	"encoding/json"
)

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
