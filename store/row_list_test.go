package store

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestRowList: a list of rows is the JSON that another library reads back, and what JSON cannot hold is an error.
func TestRowList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOf(rapid.String()).Draw(t, "texts")
		list, want := newRowList(len(texts)), []any{}
		for i, s := range texts {
			list.add(s, &s, int64(i), []byte{}, []byte(nil), (*string)(nil))
			want = append(want, []any{s, s, float64(i), "", nil, nil})
		}
		text, err := list.text()
		var got []any
		if failed := json.Unmarshal([]byte(text), &got); err != nil || failed != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s is read as %q, want %q (%v, %v)", text, got, want, err, failed)
		}
	})
	for _, bad := range []any{"\xff", 1.5} {
		list := newRowList(2)
		list.add(bad)
		list.add("good")
		if _, err := list.text(); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}
