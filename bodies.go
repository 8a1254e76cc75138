package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// This file bounds what a JSON body may hold before anything of it is kept. The checks against a schema note a fault for each value, and a body of a
// MiB holds half a million: what each costs decides how much memory one request takes.

// maxValues is how many values and names a body may have: more than twice what the largest list of ids (maxChecked) takes.
const maxValues = 25_000

// importValues is the same for a list of proxies to import, and proxyValues for one proxy of it.
const (
	importValues = 50 * maxImportLines
	proxyValues  = 500
)

// maxMember is how many bytes of a name are kept; none of ours has a quarter of them.
const maxMember = 120

// tooMany says whether data, which is to be JSON, has more than most values and names. What is no JSON is left to who reads it.
func tooMany(data []byte, most int) error {
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) // so that no name is kept
	for n := 0; ; {
		t, err := d.ReadToken()
		switch {
		case err != nil: // its end too
			return nil
		case t.Kind() == '}' || t.Kind() == ']':
			continue
		}
		if n++; n > most {
			return fmt.Errorf("holds more than %d values", most)
		}
	}
}

// readBody reads JSON strictly: members that stand twice, and text that is not UTF-8, are refused. What is to be checked against a schema has
// its names made harmless.
func readBody(data []byte, v any) error {
	free, checked := v.(*any)
	if checked {
		if err := tooMany(data, maxValues); err != nil {
			return err
		}
	}
	err := json.Unmarshal(data, v)
	if err == nil && checked {
		*free = harmless(*free)
	}
	return err
}

// harmless writes each name that no operation has, since it has a dot, a bracket or great length, in another way. huma tells where a fault is by such
// names one behind the other, and takes the last off again by its dot or bracket: with one in the name a piece stays (v2.37.2, validate.go, Pop), and
// thousands of these make each place as long as all before it together. Two names that become the same are told as one.
func harmless(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = harmless(v[i])
		}
	case map[string]any:
		other := strings.NewReplacer(".", "_", "[", "_")
		for name, value := range v {
			plain := other.Replace(atMost(name, maxMember))
			if plain != name {
				delete(v, name)
			}
			v[plain] = harmless(value)
		}
	}
	return v
}
