package cli

import (
	"reflect"
	"testing"
)

// TestPairs: KEY=VALUE words are an object, a single empty word an empty one.
func TestPairs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words []string
		want  map[string]any
	}{
		{[]string{"zone=berlin", "ssd=", "a=b=c"}, map[string]any{"zone": "berlin", "ssd": "", "a": "b=c"}},
		{[]string{""}, map[string]any{}},
		{[]string{"zone"}, nil},
		{[]string{"", "zone=berlin"}, nil},
	} {
		if got, err := pairsOf("placement", c.words); !reflect.DeepEqual(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("%q: %v, %v", c.words, got, err)
		}
	}
}
