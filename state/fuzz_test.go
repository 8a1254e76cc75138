package state

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// FuzzCookies: no file crashes the reader or makes a cookie that Chrome would refuse for what is checked here. What was read can be
// written as CDP has it and read again without a difference.
func FuzzCookies(f *testing.F) {
	seed(f, "*.json", "*.txt")
	f.Add([]byte("\xff\xfe[\x00{\x00}\x00]\x00"))
	f.Fuzz(func(t *testing.T, file []byte) {
		c, err := ReadCookies(bytes.NewReader(file), "", now())
		if err != nil {
			return
		}
		if len(c.Cookies) != len(c.Index) {
			t.Fatalf("%d cookies and %d places", len(c.Cookies), len(c.Index))
		}
		var again bytes.Buffer
		if err := WriteCookies(&again, CDP, c.Cookies, now()); err != nil {
			t.Fatal(err)
		}
		back, err := ReadCookies(&again, CDP, now())
		if err != nil || len(back.Refused) > 0 || len(c.Cookies) > 0 && !reflect.DeepEqual(back.Cookies, c.Cookies) {
			t.Fatalf("%+v\nis read again as\n%+v, %v", c, back, err)
		}
	})
}

// seed adds the files of testdata.
func seed(f *testing.F, patterns ...string) {
	f.Helper()
	for _, p := range patterns {
		files, err := filepath.Glob(filepath.Join("testdata", p))
		if err != nil || len(files) == 0 {
			f.Fatal(p, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
}

// FuzzStorageState: no file crashes the reader. What was read can be written and read again without a difference.
func FuzzStorageState(f *testing.F) {
	seed(f, "storage-state.json", "cdp.json")
	f.Add([]byte(`{"origins":[{"origin":"http://[::1]:8080","localStorage":[{"name":"\ud83d\ude00","value":"\udc00\/"}],"opfs":[]}]}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		s, err := ReadStorageState(bytes.NewReader(file), now())
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := WriteStorageState(&again, s, now()); err != nil {
			t.Fatal(err)
		}
		back, err := ReadStorageState(bytes.NewReader(again.Bytes()), now())
		if err != nil || len(back.Cookies.Refused) > 0 || len(s.Origins)+len(s.Credentials) > 0 &&
			!reflect.DeepEqual([]any{back.Origins, back.Credentials}, []any{s.Origins, s.Credentials}) {
			t.Fatalf("%+v\nis written as %s\nand read again as\n%+v, %v", s, again.Bytes(), back, err)
		}
	})
}
