package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func readState(t testing.TB, text string) *StorageFile {
	t.Helper()
	s, err := ReadStorageState(strings.NewReader(text), now())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStorageGolden: a file as Playwright writes it is read whole, and is written again as the file beside it.
func TestStorageGolden(t *testing.T) {
	t.Parallel()
	in, err := os.ReadFile("testdata/storage-state.json")
	if err != nil {
		t.Fatal(err)
	}
	s := readState(t, string(in))
	if c := s.Cookies; len(c.Cookies) != 1 || len(c.Refused)+len(c.Lost)+len(c.Notices) > 0 {
		t.Fatalf("%+v", c)
	}
	o := s.Origins[0]
	if len(s.Origins) != 2 || o.LocalStorage[0] != (Item{"k", "ü\xed\xa0\x80"}) || o.IndexedDB[0].Version != 3 ||
		*o.IndexedDB[0].Stores[0].KeyPath != "id" ||
		string(o.IndexedDB[0].Stores[0].Records[0]) != `{"value":{"id":1,"big":12345678901234567890}}` ||
		!slices.Equal(o.IndexedDB[0].Stores[0].Indexes[0].KeyPathArray, []string{"a", "b"}) || s.Credentials[0].SignCount != 7 {
		t.Errorf("%+v", s)
	}
	var out bytes.Buffer
	s.Failed = []Failure{{"https://b.example", "It did not answer."}}
	if err := WriteStorageState(&out, s, now()); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/storage-state.written"
	if os.Getenv("WARREN_REWRITE") != "" {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || !bytes.Equal(want, out.Bytes()) {
		t.Errorf("%v: written as\n%s\nwant\n%s", err, out.Bytes(), want)
	}
	s.Failed = nil
	if back := readState(t, out.String()); !reflect.DeepEqual(back, s) {
		t.Errorf("read again as %+v", back)
	}
}

// TestStorageRefusals: each part that cannot be taken is refused by its place, and what is around it stays.
func TestStorageRefusals(t *testing.T) {
	t.Parallel()
	origin := func(address, more string) string {
		return `{"origins":[{"origin":"https://ok.example","localStorage":[]},{"origin":"` + address + `","localStorage":[]` + more + `}]}`
	}
	stores := func(store string) string {
		return origin("https://a.example", `,"indexedDB":[{"name":"db","version":1,"stores":[{"name":"s"`+store+`}]}]`)
	}
	const items, dbs = "origins[1].localStorage[0]", "origins[1].indexedDB[0]"
	for _, x := range []struct{ text, place, want string }{
		{origin("ftp://a.example", ""), "origins[1]", "http or https"},
		{origin("https://a.example/", ""), "origins[1]", "without path"},
		{origin("https://u@a.example", ""), "origins[1]", "without path"},
		{origin("https://A.example", ""), "origins[1]", "capital"},
		{origin("https://a.example:443", ""), "origins[1]", "port"},
		{origin("https://a.example:08", ""), "origins[1]", "port"},
		{origin("null", ""), "origins[1]", "http or https"},
		{origin("https://ok.example", ""), "origins[1]", "there twice"},
		{origin("https://a.example", `,"localStorage":[]`), "origins[1]", "localStorage is there twice"},
		{origin("https://a.example", `,"indexedDB":{}`), "origins[1]", "must be an array"},
		{`{"origins":[{"origin":"https://ok.example"},{"localStorage":[]}]}`, "origins[1]", "origin is missing"},
		{`{"origins":[{"origin":"https://ok.example"},7]}`, "origins[1]", "not an object"},
		{`{"origins":[{"origin":"https://ok.example"},{"localStorage":[7],"origin":"http://[::1]:80"}]}`, "origins[1]", "port"},
		{`{"origins":[{"origin":"https://ok.example"},{"localStorage":[7],"origin":"http://[::1]:81"}]}`, items, "not an object"},
		{`{"origins":[{"origin":"https://ok.example"},{"localStorage":[{"name":"n"}],"origin":"http://localhost"}]}`, items,
			"a name and a value"},
		{`{"origins":[{"origin":"https://ok.example"},{"localStorage":[{"name":"n","value":7}],"origin":"http://localhost"}]}`, items,
			"value must be text"},
		{origin("https://a.example", `,"indexedDB":[{"name":"db","version":0}]`), dbs, "version must be"},
		{origin("https://a.example", `,"indexedDB":[{"name":"db","version":1.5}]`), dbs, "version must be"},
		{origin("https://a.example", `,"indexedDB":[{"version":1}]`), dbs, "a name and a version"},
		{origin("https://a.example", `,"indexedDB":[{"name":"\udc00","version":1}]`), dbs, "half a character"},
		{stores(`},{"name":"s"`), dbs, "stores[1]: The database has two stores"},
		{stores(`,"autoIncrement":1`), dbs, "stores[0]: The member autoIncrement"},
		{stores(`,"autoIncrement":true,"keyPath":""`), dbs, "autoIncrement needs"},
		{stores(`,"keyPath":"a","keyPathArray":["b"]`), dbs, "both keyPath and"},
		{stores(`,"keyPathArray":[1]`), dbs, "keyPathArray must be text"},
		{stores(`,"records":[{"value":1}]`), dbs, "records[0]: It needs either key"},
		{stores(`,"records":[{"key":1,"value":1}],"keyPath":"a"`), dbs, "records[0]: Its store has a key path"},
		{stores(`,"records":[{"key":1,"value":1},{"key":1}]`), dbs, "records[1]: It needs either value"},
		{stores(`,"records":[{"key":1,"keyEncoded":1,"value":1}]`), dbs, "records[0]: It needs either key"},
		{stores(`,"records":[{"key":1,"value":1,"x":1}]`), dbs, "records[0]: It has a member"},
		{stores(`,"records":[7]`), dbs, "records[0]: It is not an object"},
		{stores(`,"indexes":[{"name":"i"}]`), dbs, "indexes[0]: It needs a name, and either"},
		{stores(`,"indexes":[{"name":"i","keyPathArray":["a"],"multiEntry":true}]`), dbs, "cannot have multiEntry"},
		{stores(`,"indexes":[{"name":"i","keyPath":"a"},{"name":"i","keyPath":"a"}]`), dbs, "indexes[1]: The store has two"},
	} {
		s := readState(t, x.text)
		got := s.Cookies.Refused
		if len(got) != 1 || got[0].Place != x.place || !strings.Contains(got[0].Reason, x.want) ||
			s.Origins[0].Origin != "https://ok.example" {
			t.Errorf("%s: %+v, want %s: %q", x.text, got, x.place, x.want)
		}
	}
}

// TestCredentials: each fault of a passkey is told.
func TestCredentials(t *testing.T) {
	t.Parallel()
	credential := func(member, value string) string {
		in, err := os.ReadFile("testdata/storage-state.json")
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(in), `"credentials": [`)
		var c map[string]any
		if err := json.NewDecoder(strings.NewReader(text)).Decode(&c); err != nil {
			t.Fatal(err)
		}
		if c[member] = value; value == "" {
			delete(c, member)
		}
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		return `{"origins":[{"origin":"https://ok.example"}],"credentials":[` + string(b) + `]}`
	}
	for _, x := range []struct{ text, place, want string }{
		{credential("privateKey", "AAAA"), "credentials[0]", "PKCS#8"},
		{credential("publicKey", "AAAA"), "credentials[0]", "SPKI"},
		{credential("publicKey", "MCowBQYDK2VwAyEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), "credentials[0]", "not that of"},
		{credential("privateKey", strings.Repeat("A", 9000)), "credentials[0]", "8 KiB"},
		{credential("id", ""), "credentials[0]", "1 to 1023 bytes"},
		{credential("userHandle", "!"), "credentials[0]", "userHandle"},
		{credential("rpId", "https://a"), "credentials[0]", "rpId"},
		{credential("signCount", "1"), "credentials[0]", "signCount"},
		{strings.Replace(credential("userName", "x"), `"signCount":7`, `"signCount":2147483648`, 1), "credentials[0]", "signCount"},
		{credential("userName", strings.Repeat("x", 257)), "credentials[0]", "userName"},
	} {
		got := readState(t, x.text).Cookies.Refused
		if len(got) != 1 || got[0].Place != x.place || !strings.Contains(got[0].Reason, x.want) {
			t.Errorf("%s: %+v, want %s: %q", x.text, got, x.place, x.want)
		}
	}
}

// TestStorageFiles: what is no storageState, or is over a limit, and what is told of a good one.
func TestStorageFiles(t *testing.T) {
	t.Parallel()
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,{"origin":"https://a%d.example","localStorage":[]}`, i)
		}
		return `{"cookies":[],"origins":[` + b.String()[1:] + `]}`
	}
	deep, parts := strings.Repeat("[", 20000), strings.Repeat("7,", MaxParts)
	for text, want := range map[string]string{
		"":                            "no storageState",
		"[]":                          "no storageState",
		"{}":                          "none of the members",
		`{"cookies":{}}`:              "not an array",
		`{"origins":1}`:               "must be an array",
		`{"origins":[],"origins":[]}`: "twice",
		`{"origins":[{}`:              "too early",
		`{"origins":[]}x`:             "breaks",
		`{"origins":[]}{}`:            "follows",
		`{"origins":[{},{"x":}]}`:     "Entry 1, byte 21: The JSON breaks",
		`{"x":` + deep:                "breaks",
		many(MaxOrigins + 1):          "more than 1000 origins",
		"{\"x\":\"\xe4\"}":            "Latin-1",
		`{"origins":[{"opfs":[` + parts + "7]}]}": "more than 1000000 entries",
	} {
		var told *FileError
		if s, err := ReadStorageState(strings.NewReader(text), now()); !errors.As(err, &told) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %+v, %v, want %q", text, s, err, want)
		}
	}
	if s := readState(t, many(MaxOrigins)); len(s.Origins) != MaxOrigins || len(s.Cookies.Refused) > 0 {
		t.Errorf("%d origins, %+v", len(s.Origins), s.Cookies.Refused)
	}
	s := readState(t, `{"cookies":[{"name":"n"}],"origins":[{"origin":"https://a.example","opfs":[{"path":"f","type":"file"}],
		"localStorage":[{"name":"k","value":"1"},{"name":"l","value":""},{"name":"k","value":"2"}]}],"new":1}`)
	if !slices.Equal(codes(s.Cookies.Lost), []string{"members=1", "opfs=1"}) || s.Cookies.Refused[0].Place != "" ||
		!slices.Equal(codes(s.Cookies.Notices), []string{"duplicate_items=1"}) ||
		!reflect.DeepEqual(s.Origins[0].LocalStorage, []Item{{"k", "2"}, {"l", ""}}) {
		t.Errorf("%+v", s)
	}
	if err := WriteStorageState(&bytes.Buffer{}, &StorageFile{Origins: []Origin{{LocalStorage: []Item{{"\xff", ""}}}}}, now()); err == nil {
		t.Error("what is no text is written")
	}
}

// TestHalves: texts of JavaScript come back to the last code unit.
func TestHalves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"a", "é", "\"", "\\", "\n", "😀", "\x00", "\u2028", "\xed\xa0\xbd",
			"\xed\xb8\x80", "\ufffd", "\ud7ff", "\ue000"})).Draw(t, "text")
		text := strings.Join(parts, "")
		quoted, err := appendText(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(text, "\xed\xa0\xbd\xed\xb8\x80", "😀") // both halves are a whole one
		if got := unquote(quoted); got != want {
			t.Fatalf("%q is written as %s and read as %q", text, quoted, got)
		}
		item := Item{text, text}
		marshalled, err := json.Marshal(item)
		var back Item
		if err := errors.Join(err, json.Unmarshal(marshalled, &back)); err != nil || back != (Item{want, want}) {
			t.Fatalf("%+v, %v", back, err)
		}
	})
}
